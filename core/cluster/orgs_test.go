// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testenv"
)

// orgsOwn is the management cluster under another name, for an org.
func orgsOwn(name, org string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{InCluster: true, Org: org}}
}

// withoutRules takes the rules on spec with those words off the CRD, as before there were any, until the function that it returns is
// called.
func withoutRules(t *testing.T, words ...string) (restore func()) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	change := func(change func(spec map[string]any)) {
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		defer cancel()
		err := testenv.Poll(ctx, func() error {
			if err := env.Client.Get(ctx, client.ObjectKey{Name: "clusters.infrared.darkshift.io"}, crd); err != nil {
				return err
			}
			versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
			if err != nil {
				return err
			}
			spec, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
			if err != nil {
				return err
			}
			change(spec)
			if err := unstructured.SetNestedMap(versions[0].(map[string]any), spec, "schema", "openAPIV3Schema", "properties", "spec"); err != nil {
				return err
			}
			if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
				return err
			}
			return env.Client.Update(ctx, crd)
		})
		if err != nil {
			t.Fatalf("changing the CRD: %v", err)
		}
	}
	const rules = "x-kubernetes-validations"
	var all any
	change(func(spec map[string]any) {
		all = spec[rules]
		spec[rules] = slices.DeleteFunc(slices.Clone(all.([]any)), func(rule any) bool {
			text := fmt.Sprint(rule)
			return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
		})
	})
	restored := false
	restore = func() {
		if !restored {
			restored = true
			change(func(spec map[string]any) { spec[rules] = all })
		}
	}
	t.Cleanup(restore)
	return restore
}

// TestManagementClusterOfAnOrg is that Infrared does not lend its own credentials to an org, whose Cluster an older CRD let in.
func TestManagementClusterOfAnOrg(t *testing.T) {
	restore := withoutRules(t, "spec.org and spec.inCluster", "spec.org can't be changed")
	testenv.Eventually(t, func() error {
		return env.Client.Create(t.Context(), orgsOwn("orgs-new", "acme"))
	})
	t.Cleanup(func() { letGo(t, "orgs-new") })
	env.RunOperator(t)
	refused := func(name string) func() error {
		return has(name, "Connected", "False", v1alpha1.ReasonAddressRefused, "spec.org", "spec.inCluster", "the platform's", "without spec.org")
	}
	eventually(t, refused("orgs-new"))

	// One that was connected already: the org is written into it afterwards, which no rule keeps anybody from now.
	create(t, orgsOwn("orgs-old", ""))
	t.Cleanup(func() { letGo(t, "orgs-old") })
	eventually(t, has("orgs-old", "Connected", "True", v1alpha1.ReasonConnected))
	if err := patchCluster("orgs-old", `{"spec":{"org":"acme"}}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, refused("orgs-old"), has("orgs-old", "Registered", "False", v1alpha1.ReasonNotConnected))
	for _, name := range []string{"orgs-new", "orgs-old"} {
		c, err := getCluster(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.Status.Identity != nil || c.Status.KubernetesVersion != "" || c.Status.Nodes != nil {
			t.Errorf("%s tells the org of the management cluster: %+v", name, c.Status)
		}
	}

	restore()
	testenv.Eventually(t, func() error {
		if err := env.Client.Create(t.Context(), orgsOwn("orgs-third", "acme"), client.DryRunAll); err == nil {
			return errors.New("the rule is not back yet")
		}
		return nil
	})
	// They are let go as any other, though they break the rule.
	letGo(t, "orgs-new")
	letGo(t, "orgs-old")
}
