// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// operations are the changes, by address.
func operations(changes []provider.Change) map[string]provider.Operation {
	all := map[string]provider.Operation{}
	for _, c := range changes {
		all[c.Address] = c.Operation
	}
	return all
}

// A whole life: planned, made, left alone, changed in place, replaced, taken away.
func TestLife(t *testing.T) {
	w := newWorld(t)
	want := []string{httpcloud.KindCluster, httpcloud.KindNetwork, httpcloud.KindNodeGroup}

	plan := w.must(t, provider.ActionPlan, nil)
	if len(w.in()) > 0 || plan.PlanDigest == "" || operations(plan.Changes)["terraform_data.cluster"] != provider.OperationCreate {
		t.Fatalf("a plan made %v, and says %+v", w.in(), plan.Changes)
	}
	made := w.must(t, provider.ActionApply, nil)
	if diff := cmp.Diff(want, w.kinds()); diff != "" {
		t.Fatalf("after an apply (-want +got):\n%s", diff)
	}
	var ids []string
	for _, r := range made.Resources {
		ids = append(ids, r.ID)
		if _, there := w.in()[r.ID]; !there {
			t.Errorf("the cloud knows of no %s", r.ID)
		}
	}
	if len(ids) != 3 || len(made.LeftBehind) > 0 {
		t.Errorf("the result has %v, left behind %v", ids, made.LeftBehind)
	}
	if string(made.Outputs["cluster_id"]) != `"`+clusterID(w.cluster)+`"` || made.Outputs["endpoint"] == nil || made.Outputs["ca"] == nil {
		t.Errorf("the outputs are %s", made.Outputs)
	}
	before := w.writes()
	if again := w.must(t, provider.ActionApply, nil); len(again.Changes) > 0 || !slices.Equal(before, w.writes()) {
		t.Errorf("the same apply again changed %+v, wrote %v", again.Changes, w.writes()[len(before):])
	}

	grown := w.must(t, provider.ActionPlan, map[string]any{"node_count": 3})
	if got := operations(grown.Changes); got["terraform_data.node_group"] != provider.OperationUpdate || got["terraform_data.cluster"] != "" {
		t.Errorf("more nodes are planned as %v", got)
	}
	for _, change := range grown.Changes {
		if change.Loses(facts().Templates[0].Guarded) {
			t.Errorf("more nodes would need an approval, for %+v", change)
		}
	}
	w.must(t, provider.ActionApply, map[string]any{"node_count": 3})
	if got := w.in()["node-group/"+stem(w.cluster)]; got.Version != 2 || got.Properties["count"] != "3" {
		t.Errorf("the node group is %+v, want it changed in place", got)
	}

	moved := w.must(t, provider.ActionPlan, map[string]any{"node_count": 3, "region": "us-east-1"})
	if got := operations(moved.Changes); got["terraform_data.cluster"] != provider.OperationReplace || !slices.ContainsFunc(moved.Changes, func(c provider.Change) bool {
		return c.Loses(facts().Templates[0].Guarded)
	}) {
		t.Errorf("another region is planned as %v", got)
	}
	w.must(t, provider.ActionApply, map[string]any{"node_count": 3, "region": "us-east-1"})
	for id, thing := range w.in() {
		if thing.Region != "us-east-1" || thing.Version != 1 {
			t.Errorf("%s is %+v, want it made anew", id, thing)
		}
	}
	gone := w.must(t, provider.ActionDestroy, map[string]any{"node_count": 3, "region": "us-east-1"})
	if len(w.in()) > 0 || len(gone.Resources) > 0 || len(gone.LeftBehind) > 0 {
		t.Errorf("a destroy left %v, and says %+v", w.in(), gone)
	}
	w.must(t, provider.ActionDestroy, nil)
}
