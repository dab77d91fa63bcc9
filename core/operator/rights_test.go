// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/internal/testplugin"
)

// TestRights does all that the operator can be made to do, and compares what it then asked of the API server with what
// deploy/rbac lets it: a right that was not used fails, and so does a refusal.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rights, err := readRights(filepath.Join(w.Root, "deploy", "rbac", "infrared-operator.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*testenv.Patience)
	defer cancel()
	w.useRights(ctx, t)

	requests, err := w.Requests(v1alpha1.OperatorUser, began)
	if err != nil {
		t.Fatal(err)
	}
	used := map[right]bool{}
	for _, r := range requests {
		if r.Code == http.StatusForbidden || r.Code == http.StatusUnauthorized {
			t.Errorf("refused with %d: %s %s", r.Code, r.Verb, r.Path)
			continue
		}
		for _, needed := range needs(r) {
			if granted, ok := grant(rights, needed); ok {
				used[granted] = true
			} else {
				t.Errorf("allowed by no rule of ours: %s %s", r.Verb, r.Path)
			}
		}
	}
	for _, granted := range rights {
		if !used[granted] {
			t.Errorf("not used, so it must go: %s", granted)
		}
	}
}

// right is one verb on one resource. Namespace is empty for a ClusterRole, and Name for every name.
type right struct{ Namespace, Group, Resource, Name, Verb string }

func (r right) String() string {
	return fmt.Sprintf("%s %s.%s %s in namespace %q", r.Verb, r.Resource, r.Group, r.Name, r.Namespace)
}

// needs are the rights that a request needs. A server-side apply that made the object needs create besides. A watch that began with
// what is there is how caches fill, and on API servers that can't do that, such as 1.33, they list first.
func needs(r testenv.Request) []right {
	if r.Resource == "" {
		return nil // not a resource but, say, discovery, which every user may read
	}
	needed := right{Namespace: r.Namespace, Group: r.Group, Resource: r.Resource, Name: r.Name, Verb: r.Verb}
	if r.Resource == "namespaces" {
		needed.Namespace = "" // a namespace counts as being in itself
	}
	if r.Subresource != "" {
		needed.Resource += "/" + r.Subresource
	}
	besides := needed
	switch {
	case r.Verb == "patch" && r.Code == http.StatusCreated:
		besides.Verb = "create"
	case r.Verb == "watch" && strings.Contains(r.Path, "sendInitialEvents=true"):
		besides.Verb = "list"
	}
	return []right{needed, besides}
}

// grant finds the right that allows what is needed, that of the namespace first.
func grant(rights []right, needed right) (right, bool) {
	for _, namespace := range []string{needed.Namespace, ""} {
		for _, name := range []string{needed.Name, ""} {
			granted := needed
			granted.Namespace, granted.Name = namespace, name
			if slices.Contains(rights, granted) {
				return granted, true
			}
		}
	}
	return right{}, false
}

// readRights takes the roles in a file apart.
func readRights(path string) ([]right, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rights []right
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4<<10)
	for {
		var role struct {
			Kind              string `json:"kind"`
			metav1.ObjectMeta `json:"metadata"`
			Rules             []rbacv1.PolicyRule `json:"rules"`
		}
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return rights, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		for _, rule := range role.Rules {
			rights = append(rights, flatten(role.Namespace, rule)...)
		}
	}
}

func flatten(namespace string, rule rbacv1.PolicyRule) []right {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var rights []right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, name := range names {
				for _, verb := range rule.Verbs {
					rights = append(rights, right{namespace, group, resource, name, verb})
				}
			}
		}
	}
	return rights
}

// useRights makes two operators do what they can.
func (w *world) useRights(ctx context.Context, t *testing.T) {
	t.Helper()
	plugins := testplugin.Build(t).Path
	command := operatorCommand(t, w.OperatorKubeconfig, "--leader-elect=true", "--metrics-bind-address=0", "--plugins", plugins)
	run(t, command())
	leader(ctx, t, w, "")
	run(t, command())

	wc := w.registerOne(ctx, t, "rights")
	w.mustBecome(ctx, t, "management", v1alpha1.ReasonConnected)
	if err := w.begin(ctx, "again", wc); err != nil {
		t.Fatal(err)
	}
	w.mustBecome(ctx, t, "again", v1alpha1.ReasonAlreadyRegistered)
	w.mustBeOwnedAgain(ctx, t, "rights")
	w.setKubeconfig(ctx, t, "rights", []byte("nonsense"))
	w.mustBecome(ctx, t, "rights", v1alpha1.ReasonReplacementRefused)
	w.setKubeconfig(ctx, t, "rights", wc.Kubeconfig(testcluster.KubeconfigOptions{}))
	incarnation := w.mustBecome(ctx, t, "rights", v1alpha1.ReasonConnected).Spec.Incarnation
	for _, name := range []string{"again", "rights"} {
		if err := w.letGo(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	adopted := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "rights"},
		Spec:       v1alpha1.ClusterSpec{InCluster: true, Incarnation: incarnation},
	}
	if err := w.Client.Create(ctx, adopted); err != nil {
		t.Fatal(err)
	}
	w.mustBecome(ctx, t, "rights", v1alpha1.ReasonAlreadyDeleted)

	missing := outcome{binary: "nope", sum: wrongSum, reason: v1alpha1.ReasonBinaryMissing, status: metav1.ConditionFalse}
	w.applyProvider(ctx, t, "rights", "", missing)
	w.providerMustBe(ctx, t, "rights", missing)
	w.providerMustGo(ctx, t, "rights")
	w.builtLife(ctx, t, plugins)
}

// mustBecome waits until the Cluster is Connected, or is not, for a reason.
func (w *world) mustBecome(ctx context.Context, t testing.TB, name, reason string) *v1alpha1.Cluster {
	t.Helper()
	var cluster *v1alpha1.Cluster
	err := testenv.Poll(ctx, func() (err error) {
		if cluster, err = w.cluster(ctx, name); err != nil {
			return err
		}
		yes := has(cluster, v1alpha1.ConditionConnected, metav1.ConditionTrue, reason)
		no := has(cluster, v1alpha1.ConditionConnected, metav1.ConditionFalse, reason)
		if yes == nil {
			return nil
		}
		return no
	})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// mustBeOwnedAgain takes the owner references off a Cluster's claims, and waits until they are back.
func (w *world) mustBeOwnedAgain(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	var claims corev1.ConfigMapList
	err := w.Client.List(ctx, &claims, client.MatchingLabels{v1alpha1.LabelCluster: name})
	if err != nil {
		t.Fatal(err)
	}
	for i := range claims.Items {
		// Without its label it is in no cache either, so the operator has to read it.
		strip := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null,"labels":{"infrared.darkshift.io/claim":null}}}`))
		if err := w.Client.Patch(ctx, &claims.Items[i], strip); err != nil {
			t.Fatal(err)
		}
		err := testenv.Poll(ctx, func() error {
			var claim corev1.ConfigMap
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(&claims.Items[i]), &claim)
			if err == nil && len(claim.OwnerReferences) == 0 {
				err = fmt.Errorf("%s is not owned again", claim.Name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// setKubeconfig replaces the kubeconfig in a Cluster's Secret.
func (w *world) setKubeconfig(ctx context.Context, t testing.TB, name string, kubeconfig []byte) {
	t.Helper()
	err := testenv.Poll(ctx, func() error {
		secret, err := w.secret(ctx, v1alpha1.Namespace, name+"-kubeconfig")
		if err != nil {
			return err
		}
		secret.Data["kubeconfig"] = kubeconfig
		return w.Client.Update(ctx, secret)
	})
	if err != nil {
		t.Fatal(err)
	}
}
