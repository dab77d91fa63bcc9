// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package owned_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
)

func cluster(name, uid, incarnation string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}, Spec: v1alpha1.ClusterSpec{Incarnation: incarnation}}
}

// marked is a Secret that a Cluster has taken over.
func marked(c *v1alpha1.Cluster) *corev1.Secret {
	s := &corev1.Secret{}
	owned.Mark(s, c)
	return s
}

func TestMark(t *testing.T) {
	c := cluster("edge", "u1", "u1")
	s := &corev1.Secret{}
	s.Labels = map[string]string{"team": "x"}
	s.Finalizers = []string{"example.net/other"}
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "somebody", UID: "u9"}}
	if !owned.Mark(s, c) || owned.Mark(s, c) {
		t.Error("a mark is made once, and seen the second time")
	}
	if s.Labels["team"] != "x" || len(s.OwnerReferences) != 2 || !slices.Equal(s.Finalizers, []string{"example.net/other", v1alpha1.FinalizerDisconnect}) {
		t.Errorf("what was there stays: %+v", s.ObjectMeta)
	}
	if ref := s.OwnerReferences[1]; ref.Controller != nil || ref.UID != "u1" || ref.Kind != "Cluster" {
		t.Errorf("a person's Secret may have a controller: %+v", ref)
	}
	now := metav1.Now()
	leaving := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}
	owned.Mark(leaving, c)
	if len(leaving.Finalizers) > 0 {
		t.Error("the API server takes no new finalizer on what is being deleted")
	}
}

func TestBy(t *testing.T) {
	edge := cluster("edge", "u1", "u1")
	restored := cluster("edge", "u2", "u1") // from a backup: another UID, the same incarnation
	later := cluster("edge", "u3", "u3")
	other := cluster("west", "u4", "u4")
	without := func(change func(*corev1.Secret)) *corev1.Secret {
		s := marked(edge)
		change(s)
		return s
	}
	cases := map[string]struct {
		reason string
		obj    *corev1.Secret
		of     *v1alpha1.Cluster
		want   bool
		other  string
	}{
		"own":              {"as marked", marked(edge), edge, true, ""},
		"restored":         {"the incarnation says so, not the UID", marked(edge), restored, true, ""},
		"later":            {"a later Cluster of the name inherits nothing", marked(edge), later, false, "edge"},
		"other":            {"another's", marked(edge), other, false, "edge"},
		"person's":         {"nobody's yet", &corev1.Secret{}, edge, false, ""},
		"no labels":        {"the owner still says so", without(func(s *corev1.Secret) { s.Labels = nil }), edge, true, ""},
		"no labels, other": {"and that it is not another's", without(func(s *corev1.Secret) { s.Labels = nil }), other, false, "edge"},
		"no owner":         {"the labels still say so", without(func(s *corev1.Secret) { s.OwnerReferences = nil }), edge, true, ""},
		"no incarnation":   {"a Cluster that has none yet owns nothing", marked(edge), cluster("new", "u5", ""), false, "edge"},
	}
	for name, tc := range cases {
		if got := owned.By(tc.obj, tc.of); got != tc.want {
			t.Errorf("%s: %v: %s", name, got, tc.reason)
		}
		if got := owned.OtherCluster(tc.obj, tc.of); got != tc.other {
			t.Errorf("%s: other Cluster %q, want %q: %s", name, got, tc.other, tc.reason)
		}
	}
}
