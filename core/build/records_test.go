// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

// TestRecordsArePruned keeps the newest ten runs, and the newest apply.
func TestRecordsArePruned(t *testing.T) {
	t.Parallel()
	s := newSite(t, "pruned", apply)
	s.builder = s.newBuilder(&mortal{Client: operatorClient(t)})
	complete := func(outcome run.Outcome) {
		t.Helper()
		s.until(s.is(v1alpha1.RunRunning, ""))
		s.endJob(outcome)
		s.until(s.over)
	}
	complete(run.Outcome{})
	kept := []string{s.turn.Run.Record}
	s.change(func(c *v1alpha1.Cluster) { c.Spec.Provision.Action = v1alpha1.ActionPlan })
	for range 12 {
		complete(run.Outcome{Digest: digestA})
		kept = append(kept, s.turn.Run.Record)
		s.change(again)
	}
	kept = append(kept[:1], kept[len(kept)-10:]...)
	var records corev1.ConfigMapList
	err := env.Client.List(t.Context(), &records, client.InNamespace(v1alpha1.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: s.name, v1alpha1.LabelBuild: "record"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range records.Items {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	slices.Sort(kept)
	if !slices.Equal(names, kept) {
		t.Errorf("kept are\n%v, want\n%v", names, kept)
	}
}
