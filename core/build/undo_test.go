// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"encoding/json"
	"testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// TestDestroyGoesByWhatChanged has an apply build in region r1, and a later one in r2 that changes nothing.
func TestDestroyGoesByWhatChanged(t *testing.T) {
	t.Parallel()
	image := func(name string) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Spec.Provision.Image = name }
	}
	stopped := failure(v1alpha1.ReasonApprovalNeeded, "It would replace terraform_data.thing[0].")
	stopped.Digest, stopped.Guarded, stopped.Changes = digestB, true, changes(provider.OperationReplace)
	half := failure(v1alpha1.ReasonQuotaExceeded, "There is no room.")
	half.Changes = changes(provider.OperationCreate)
	kept := &run.Order{
		Cluster: provider.Cluster{Region: "r0"}, Variables: map[string]json.RawMessage{"region": json.RawMessage(`"r0"`), "gone": json.RawMessage("1")}, Image: "opentofu:kept",
	}
	cases := map[string]struct {
		reason        string
		second        run.Outcome
		ledger        run.Ledger
		region, image string
	}{
		"stopped at a plan":   {"what it tells is the plan's changes", stopped, run.Ledger{}, "r1", "opentofu:one"},
		"module not there":    {"a destroy by its source could never end", failure(v1alpha1.ReasonInvalidSpec, "No such module."), run.Ledger{}, "r1", "opentofu:one"},
		"half built":          {"it has changed something there", half, run.Ledger{}, "r2", "opentofu:two"},
		"the ledger knows it": {"infrared-build saw what began", half, run.Ledger{Order: kept}, "r0", "opentofu:kept"},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "undo-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id, apply, image("opentofu:one"))
			s.complete(run.Outcome{Changes: changes(provider.OperationCreate)})
			s.change(func(c *v1alpha1.Cluster) { set("region", "r2")(c); image("opentofu:two")(c) })
			s.complete(tc.second)
			s.setLedger(tc.ledger)
			s.untilDestroy(false, s.job("tofu-"+id+"-2-destroy"))
			order := s.order()
			if order.Cluster.Region != tc.region || string(order.Variables["region"]) != `"`+tc.region+`"` || order.Image != tc.image {
				t.Errorf("the destroy is in region %s (%s) with image %s: %s", order.Cluster.Region, order.Variables["region"], order.Image, tc.reason)
			}
			if _, found := order.Variables["gone"]; found || order.Digest != "" || order.Action != provider.ActionDestroy {
				t.Errorf("the order is %+v", order)
			}
			for _, job := range s.jobs() {
				if job.Name == s.turn.Run.Job && job.Spec.Template.Spec.Containers[0].Image != tc.image {
					t.Errorf("the Job's image is %s", job.Spec.Template.Spec.Containers[0].Image)
				}
			}
		})
	}
}

// TestGuardedIsOfTheTemplate guards everything where the module is another than the template's.
func TestGuardedIsOfTheTemplate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, source string
		guarded        int
	}{
		"the template's": {"its list is of its own resources", "", 1},
		"another":        {"its resources have other names", "git::https://example.net/m.git?ref=v1", 0},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "guarded-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id, apply, func(c *v1alpha1.Cluster) { c.Spec.Provision.Source = tc.source })
			s.catalogue.found.Template.Guarded = []string{"terraform_data.cluster"}
			s.begin()
			if got := s.order().Guarded; len(got) != tc.guarded {
				t.Errorf("guarded is %v, want %d: %s", got, tc.guarded, tc.reason)
			}
		})
	}
}
