// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/internal/testenv"
)

var env *testenv.Env

func TestMain(m *testing.M) { os.Exit(testenv.Main(m, &env)) }

// operatorStore is a store with the operator's own rights and without a cache, so that every answer is the API server's.
func operatorStore(t *testing.T) *claim.Store {
	t.Helper()
	c, err := client.New(env.Operator, client.Options{Scheme: env.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return &claim.Store{Client: c, Live: c}
}

// makeCluster makes a Cluster with an incarnation, as it is after its first reconcile.
func makeCluster(t *testing.T, name, org string) *v1alpha1.Cluster {
	t.Helper()
	c := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.AnnotationConfirmDelete: name}},
		Spec: v1alpha1.ClusterSpec{
			Org: org, Incarnation: string(uuid.NewUUID()),
			Connection: &v1alpha1.Connection{KubeconfigSecretRef: v1alpha1.SecretKeyRef{Name: name, Key: "kubeconfig"}},
		},
	}
	if err := env.Client.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// held are the values that a Cluster has claimed, sorted.
func held(t *testing.T, cluster *v1alpha1.Cluster) []string {
	t.Helper()
	var list corev1.ConfigMapList
	err := env.Client.List(t.Context(), &list, client.InNamespace("infrared"), client.MatchingLabels{v1alpha1.LabelIncarnation: cluster.Spec.Incarnation})
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, c := range list.Items {
		values = append(values, c.Data["value"])
	}
	slices.Sort(values)
	return values
}

func server(value string) claim.Claim { return claim.Claim{Kind: claim.Server, Value: value} }

func TestTakeAndKeep(t *testing.T) {
	s, one, two := operatorStore(t), makeCluster(t, "keep-one", ""), makeCluster(t, "keep-two", "acme")
	for range 2 { // taking what one has is fine
		for _, value := range []string{"a.keep:443", "b.keep:443"} {
			if err := s.Take(t.Context(), one, server(value)); err != nil {
				t.Fatal(err)
			}
		}
	}
	var taken *claim.HeldError
	if err := s.Take(t.Context(), two, server("a.keep:443")); !errors.As(err, &taken) || taken.Holder != "keep-one" || taken.Org != "" {
		t.Errorf("another's claim: %v", err)
	}
	if err := s.Take(t.Context(), two, claim.Claim{Kind: claim.KubeSystem, Value: "a.keep:443"}); err != nil {
		t.Errorf("the same value of another kind is another thing: %v", err)
	}
	if err := s.Keep(t.Context(), one, server("b.keep:443"), server("never taken")); err != nil {
		t.Fatal(err)
	}
	if got := held(t, one); !slices.Equal(got, []string{"b.keep:443"}) {
		t.Errorf("one keeps %v", got)
	}
	if err := s.Take(t.Context(), two, server("a.keep:443")); err != nil {
		t.Errorf("what one let go is free: %v", err)
	}
	if err := s.Keep(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if got := held(t, two); !slices.Equal(got, []string{"a.keep:443", "a.keep:443"}) || len(held(t, one)) > 0 {
		t.Errorf("one lets all of its own go, and nothing of two's: %v %v", held(t, one), got)
	}
}

// TestTwoAtOnce is that of many that want the same at one moment just one gets it, whichever it is.
func TestTwoAtOnce(t *testing.T) {
	const takers = 8
	var clusters []*v1alpha1.Cluster
	for i := range takers {
		clusters = append(clusters, makeCluster(t, fmt.Sprintf("at-once-%d", i), ""))
	}
	for round := range 5 {
		wanted := server(fmt.Sprintf("at-once-%d:443", round))
		errs := make([]error, takers)
		var all sync.WaitGroup
		for i, c := range clusters {
			s := operatorStore(t) // of an operator of its own
			all.Go(func() { errs[i] = s.Take(context.WithoutCancel(t.Context()), c, wanted) })
		}
		all.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 {
			t.Fatalf("nobody got it: %v", errs)
		}
		for i, err := range errs {
			var taken *claim.HeldError
			if i != winner && (!errors.As(err, &taken) || taken.Holder != clusters[winner].Name) {
				t.Errorf("%s got %v, and %s has it", clusters[i].Name, err, clusters[winner].Name)
			}
		}
	}
}

// TestStaleHolder is that a claim whose Cluster is gone, or is another one by now, holds nobody up.
func TestStaleHolder(t *testing.T) {
	s := operatorStore(t)
	gone, next := makeCluster(t, "stale", ""), makeCluster(t, "stale-next", "")
	if err := s.Take(t.Context(), gone, server("stale:443")); err != nil {
		t.Fatal(err)
	}
	if err := env.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	again := makeCluster(t, "stale", "") // the same name, another incarnation
	if err := s.Take(t.Context(), next, server("stale:443")); err != nil {
		t.Errorf("the holder is gone, but: %v", err)
	}
	var taken *claim.HeldError
	if err := s.Take(t.Context(), again, server("stale:443")); !errors.As(err, &taken) || taken.Holder != "stale-next" {
		t.Errorf("the later one of the name inherits nothing: %v", err)
	}
}

// TestForged is that an object of somebody else under a claim's name is no claim.
func TestForged(t *testing.T) {
	s, c := operatorStore(t), makeCluster(t, "forged", "")
	wanted := server("forged:443")
	forged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "infrared", Name: wanted.Name()}}
	if err := env.Client.Create(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	if err := s.Take(t.Context(), c, wanted); err != nil {
		t.Errorf("nobody holds it, but: %v", err)
	}
	if got := held(t, c); !slices.Equal(got, []string{"forged:443"}) {
		t.Errorf("the Cluster has %v", got)
	}
}

// TestStripped is that what somebody took off a claim is put back when it is taken again.
func TestStripped(t *testing.T) {
	s, c := operatorStore(t), makeCluster(t, "stripped", "")
	wanted := server("stripped:443")
	if err := s.Take(t.Context(), c, wanted); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "infrared", Name: wanted.Name()}
	off := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null,"labels":{"infrared-cluster":null}}}`))
	if err := env.Client.Patch(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, off); err != nil {
		t.Fatal(err)
	}
	if err := s.Take(t.Context(), c, wanted); err != nil {
		t.Fatal(err)
	}
	var found corev1.ConfigMap
	if err := env.Client.Get(t.Context(), key, &found); err != nil {
		t.Fatal(err)
	}
	if found.Labels[v1alpha1.LabelCluster] != "stripped" || len(found.OwnerReferences) != 1 || found.OwnerReferences[0].UID != c.UID {
		t.Errorf("the claim is marked %v, owned by %v", found.Labels, found.OwnerReferences)
	}
}
