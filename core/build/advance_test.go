// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// TestPlanIsWhatIsApplied follows one Cluster from its first plan over an apply of it to a change that waits.
func TestPlanIsWhatIsApplied(t *testing.T) {
	t.Parallel()
	s := newSite(t, "whole-life")
	s.begin()
	want := run.Order{
		Cluster: provider.Cluster{Name: "whole-life", Incarnation: s.cluster().Spec.Incarnation, Region: "r1", Template: "fake/cluster"},
		Action:  provider.ActionPlan, Version: "v1.0.0",
		Variables: map[string]json.RawMessage{"region": json.RawMessage(`"r1"`), "name": json.RawMessage(`"whole-life"`)},
		Labels:    map[string]string{"infrared-cluster": "whole-life", "infrared-cluster-uid": s.cluster().Spec.Incarnation},
		Plugin:    "fake", PluginSHA256: s.catalogue.found.SHA256, Template: "fake/cluster", Image: "opentofu:dev",
	}
	if diff := cmp.Diff(want, s.order()); diff != "" {
		t.Errorf("the order of a first plan (-want +got):\n%s", diff)
	}
	s.tell(run.KeyProgress, run.Progress{Events: []run.Event{{Kind: provider.EventMessage, At: s.clock.Now(), Message: "planning"}}})
	s.look()
	if r := s.turn.Run; len(r.Events) != 1 || r.Events[0].Message != "planning" || r.Phase != v1alpha1.RunRunning {
		t.Errorf("progress is not in the status: %+v", r)
	}
	s.end(run.Outcome{Digest: digestA, Changes: changes(provider.OperationCreate, provider.OperationCreate)})
	s.until(s.is(v1alpha1.RunSucceeded, "", "would create 2"))
	if p := s.turn.Plan; p == nil || p.Digest != digestA || p.Counts.Create != 2 || p.Approve != "" {
		t.Fatalf("the plan is not in the status: %+v", p)
	}
	if s.look(); len(s.jobNames()) != 1 {
		t.Errorf("a plan that is done is made again: %v", s.jobNames())
	}

	s.change(apply)
	s.begin()
	if order := s.order(); order.Digest != digestA || order.Action != provider.ActionApply || !order.DigestExpires.Equal(s.turn.Plan.ExpiresAt.Time) {
		t.Errorf("the apply is not of the plan that was shown: %+v", order)
	}
	s.change(set("node_count", "5"))
	for range 3 {
		s.look()
	}
	if err := s.is(v1alpha1.RunRunning, "")(); err != nil || len(s.jobNames()) != 2 {
		t.Errorf("a change cuts the run short, or runs beside it: %v, %v", err, s.jobNames())
	}
	s.setLedger(run.Ledger{Applied: &run.Outcome{Outputs: map[string]json.RawMessage{"endpoint": json.RawMessage(`"https://x"`)}}})
	s.end(run.Outcome{Changes: changes(provider.OperationCreate), Resources: []provider.Resource{{Kind: "network", ID: "n-1"}}})
	s.until(s.job("tofu-whole-life-3-apply"))
	if b := s.turn.Built; b == nil || b.Version != "v1.0.0" || b.Generation != 2 {
		t.Errorf("what is built is not in the status: %+v", b)
	}
	if s.turn.Plan != nil {
		t.Errorf("the plan outlives its apply: %+v", s.turn.Plan)
	}
	if s.turn.Applied == nil || string(s.turn.Applied.Outputs["endpoint"]) != `"https://x"` {
		t.Errorf("the outputs are not told: %+v", s.turn.Applied)
	}
	if order := s.order(); order.Digest != "" || string(order.Variables["node_count"]) != "5" {
		t.Errorf("the change that waited runs with %+v", order)
	}
}

// TestOnlyInputsStartARun changes a Cluster whose run is done.
func TestOnlyInputsStartARun(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.Cluster)
		runs   int
	}{
		"flavor":    {"it decides nothing", func(c *v1alpha1.Cluster) { c.Spec.Flavor = "k3s" }, 1},
		"server":    {"Argo CD reads it, OpenTofu does not", func(c *v1alpha1.Cluster) { c.Spec.Server = "https://192.0.2.1:6443" }, 1},
		"run":       {"raising it is how the same is asked for again", again, 2},
		"image":     {"another OpenTofu may do another thing", func(c *v1alpha1.Cluster) { c.Spec.Provision.Image = "opentofu:other" }, 2},
		"variables": {"the module reads them", set("note", "x"), 2},
		"action":    {"an apply is not a plan", apply, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "inputs-"+name)
			s.complete(run.Outcome{Digest: digestA})
			s.change(tc.change)
			s.look()
			s.look()
			if got := len(s.jobNames()); got != tc.runs {
				t.Errorf("%d runs, want %d: %s", got, tc.runs, tc.reason)
			}
		})
	}
}

// TestPlanWithoutChanges says so.
func TestPlanWithoutChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t, "no-changes")
	s.complete(run.Outcome{Digest: digestA})
	if err := s.is(v1alpha1.RunSucceeded, "", "No changes")(); err != nil {
		t.Error(err)
	}
}

// TestPlanExpires lets a day pass after a plan.
func TestPlanExpires(t *testing.T) {
	t.Parallel()
	s := newSite(t, "expiry")
	s.begin()
	s.savePlan()
	s.end(run.Outcome{Digest: digestA, Changes: changes(provider.OperationCreate)})
	s.until(s.over)
	if s.turn.After > 24*time.Hour || s.turn.After < 23*time.Hour {
		t.Errorf("the look at the plan's end is in %s", s.turn.After)
	}
	s.clock.SetTime(s.clock.Now().Add(24*time.Hour + time.Second))
	s.look()
	if s.turn.Plan != nil {
		t.Errorf("the plan can still be applied: %+v", s.turn.Plan)
	}
	if s.savedPlan() {
		t.Error("the saved plan, with its sensitive values, is still there")
	}
	s.change(apply)
	s.begin()
	if order := s.order(); order.Digest != "" {
		t.Errorf("an apply goes by a plan that has expired: %s", order.Digest)
	}
}

// savePlan is what infrared-build does with a plan.
func (s *site) savePlan() {
	s.t.Helper()
	var secret corev1.Secret
	if !exists(s.t, &secret, s.names().Plan()) {
		s.t.Fatal("the Secret for the plan is not there")
	}
	secret.Data = map[string][]byte{run.KeyPlan: []byte("sensitive"), run.KeyDigest: []byte(digestA)}
	if err := env.Client.Update(s.t.Context(), &secret); err != nil {
		s.t.Fatal(err)
	}
}

// savedPlan says whether the Secret holds a plan.
func (s *site) savedPlan() bool {
	s.t.Helper()
	var secret corev1.Secret
	return exists(s.t, &secret, s.names().Plan()) && len(secret.Data) > 0
}

// TestPlanOfOtherInputs is dropped as soon as the Cluster asks for something else.
func TestPlanOfOtherInputs(t *testing.T) {
	t.Parallel()
	s := newSite(t, "moved")
	s.begin()
	s.savePlan()
	s.end(run.Outcome{Digest: digestA, Changes: changes(provider.OperationCreate)})
	s.until(s.over)
	s.change(func(c *v1alpha1.Cluster) {
		apply(c)
		set("note", "other")(c)
	})
	s.begin()
	if s.turn.Plan != nil || s.savedPlan() {
		t.Errorf("a plan of other inputs stays: %+v", s.turn.Plan)
	}
	if order := s.order(); order.Digest != "" {
		t.Errorf("an apply goes by a plan of other inputs")
	}
}

// TestApproval stops an apply at what it would destroy, until a person names the plan's digest.
func TestApproval(t *testing.T) {
	t.Parallel()
	s := newSite(t, "approval", apply)
	s.begin()
	stopped := failure(v1alpha1.ReasonApprovalNeeded, "It would replace terraform_data.thing[0].")
	stopped.Digest, stopped.Guarded, stopped.Changes = digestA, true, changes(provider.OperationReplace)
	s.end(stopped)
	s.until(s.is(v1alpha1.RunFailed, v1alpha1.ReasonApprovalNeeded, "kubectl annotate cluster approval infrared.darkshift.io/approve-plan="+digestA))
	if p := s.turn.Plan; p == nil || p.Approve != v1alpha1.AnnotationApprovePlan+"="+digestA {
		t.Fatalf("the plan that waits is not in the status: %+v", p)
	}
	for _, digest := range []string{digestB, digestA} {
		s.change(func(c *v1alpha1.Cluster) { c.Annotations = map[string]string{v1alpha1.AnnotationApprovePlan: digest} })
		if digest == digestB {
			if s.look(); s.turn.Run.Phase != v1alpha1.RunFailed {
				t.Errorf("another plan's approval counts: %+v", s.turn.Run)
			}
		}
	}
	s.begin()
	order := s.order()
	if s.turn.Run.Job != "tofu-approval-1-apply" || s.turn.Run.Attempt != 2 || order.Approved != digestA || order.Digest != digestA {
		t.Errorf("the approved run is %+v with order %+v", s.turn.Run, order)
	}
	s.end(stopped)
	s.until(s.is(v1alpha1.RunFailed, v1alpha1.ReasonApprovalNeeded))
	for range 3 {
		s.look()
	}
	if s.turn.Run.Attempt != 2 {
		t.Errorf("one approval starts run after run: attempt %d", s.turn.Run.Attempt)
	}
}

// TestPlanChanged shows the new plan and applies nothing.
func TestPlanChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, "changed")
	s.complete(run.Outcome{Digest: digestA, Changes: changes(provider.OperationCreate)})
	s.change(apply)
	s.begin()
	moved := failure(v1alpha1.ReasonPlanChanged, "The state has changed since.")
	moved.Digest, moved.Changes = digestB, changes(provider.OperationUpdate)
	s.end(moved)
	s.until(s.is(v1alpha1.RunFailed, v1alpha1.ReasonPlanChanged, "The state has changed"))
	if s.turn.Plan == nil || s.turn.Plan.Digest != digestB {
		t.Errorf("the new plan is not shown: %+v", s.turn.Plan)
	}
	s.change(again)
	s.begin()
	if s.order().Digest != digestB {
		t.Errorf("the next apply is of plan %q, want the new one", s.order().Digest)
	}
}

// TestCacheIsBehind has an operator that still sees the Cluster as it was.
func TestCacheIsBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t, "behind")
	before := s.cluster()
	s.change(apply)
	for name, old := range map[string]*v1alpha1.Cluster{"an old generation": before, "another Cluster": withUID(s.cluster())} {
		turn, err := s.builder.Advance(t.Context(), old)
		if err != nil || turn.After == 0 {
			t.Errorf("%s: the next look is after %s, %v", name, turn.After, err)
		}
	}
	if len(s.jobs()) > 0 {
		t.Errorf("a run is made for what is no longer asked for: %v", s.jobNames())
	}
	s.begin()
	if s.turn.Run.Job != "tofu-behind-2-apply" || len(s.jobs()) != 1 {
		t.Errorf("the Jobs are %v", s.jobNames())
	}
}

func withUID(c *v1alpha1.Cluster) *v1alpha1.Cluster {
	c.UID = "another"
	return c
}
