// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// A cluster's life: planned, applied as planned, changed, and taken away.
func TestLife(t *testing.T) {
	c := newCluster(t, small)
	planned := c.ok(c.order(provider.ActionPlan, with("names", []string{"a", "b"})))
	if diff := cmp.Diff([]string{`terraform_data.thing["a"] Create`, `terraform_data.thing["b"] Create`}, changed(planned.Changes)); diff != "" || planned.Digest == "" || planned.Guarded {
		t.Fatalf("planned digest %q, guarded %v (-want +got):\n%s", planned.Digest, planned.Guarded, diff)
	}
	if plan := c.getSecret(c.names.Plan()); string(plan.Data[run.KeyDigest]) != planned.Digest || len(plan.Data[run.KeyPlan]) == 0 {
		t.Errorf("the plan is not kept: %d bytes", len(plan.Data[run.KeyPlan]))
	}
	j := c.start(c.order(provider.ActionApply, with("names", []string{"a", "b"}), func(o *run.Order) { o.Digest = planned.Digest }))
	applied := j.end()
	if applied.Failure != nil || len(applied.Resources) != 2 || string(applied.Outputs["count"]) != "2" || len(applied.Changes) != 2 || applied.Digest != "" || applied.EndedAt.IsZero() {
		t.Fatalf("applied %+v", applied)
	}
	ledger := c.ledger()
	if diff := cmp.Diff(ids(applied.Resources), ids(ledger.Made)); diff != "" || ledger.Running != "" || ledger.Applied == nil || ledger.Applied.Changes != nil || string(ledger.Applied.Outputs["count"]) != "2" {
		t.Errorf("the ledger is %+v (-want +got):\n%s", ledger, diff)
	}
	if plan := c.getSecret(c.names.Plan()); len(plan.Data) > 0 || len(plan.Finalizers) == 0 {
		t.Errorf("the plan was applied and still has %d values, or lost its finalizer", len(plan.Data))
	}
	if log := j.configMap().Data[run.KeyLog]; !strings.Contains(log, "Creation complete") || !strings.Contains(j.out.String(), "Creation complete") {
		t.Errorf("OpenTofu's output is not in the log (%d bytes) or not on standard output", len(log))
	}
	var progress run.Progress
	must(t, 0, run.Unpack(j.configMap().BinaryData[run.KeyProgress], &progress))
	if len(progress.Events) == 0 || len(progress.Events) > 20 || !slices.ContainsFunc(progress.Events, func(e run.Event) bool { return e.Kind == provider.EventDone }) {
		t.Errorf("the progress is %+v", progress)
	}
	lease := c.lease()
	if lease.Annotations[run.StampPod] != "pod-2" || lease.Annotations[run.StampJob] != "job-2" || lease.Annotations[run.StampNode] != "node-1" || c.locked() {
		t.Errorf("the lease says %v, locked %v", lease.Annotations, c.locked())
	}

	again := c.ok(c.order(provider.ActionApply, with("names", []string{"a", "b"})))
	if len(again.Changes) != 0 || len(again.Resources) != 2 {
		t.Errorf("the same again does %v", changed(again.Changes))
	}
	gone := c.ok(c.order(provider.ActionDestroy, with("names", []string{"a", "b"})))
	if len(gone.Resources) > 0 || len(gone.Changes) != 2 || len(c.ledger().Made) > 0 || c.ledger().Applied != nil {
		t.Errorf("destroyed: %+v, ledger %+v", gone, c.ledger())
	}
}

func TestPlanMoved(t *testing.T) {
	c := newCluster(t, small)
	planned := c.ok(c.order(provider.ActionPlan))
	with2 := with("names", []string{"a", "b"})
	outcome := c.fails(c.order(provider.ActionApply, with2, func(o *run.Order) { o.Digest = planned.Digest }), v1alpha1.ReasonPlanChanged)
	if !strings.Contains(outcome.Failure.Message, "the variables") || outcome.Digest == "" || outcome.Digest == planned.Digest || len(outcome.Changes) != 2 {
		t.Errorf("a plan whose variables moved: %+v", outcome)
	}
	if plan := c.getSecret(c.names.Plan()); string(plan.Data[run.KeyDigest]) != outcome.Digest {
		t.Error("the new plan is not kept")
	}
	applied := c.ok(c.order(provider.ActionApply, with2, func(o *run.Order) { o.Digest = outcome.Digest }))
	if len(applied.Resources) != 2 {
		t.Errorf("the new plan made %v", ids(applied.Resources))
	}
	// The plan is not kept any more, and nothing would be what it was.
	outcome = c.fails(c.order(provider.ActionApply, with2, func(o *run.Order) { o.Digest = outcome.Digest }), v1alpha1.ReasonPlanChanged)
	if len(outcome.Changes) != 0 || outcome.Digest == "" {
		t.Errorf("a plan that was applied already: %+v", outcome)
	}
}

func TestApproval(t *testing.T) {
	c := newCluster(t, small)
	c.ok(c.order(provider.ActionApply))
	larger := with("size", "l")
	guard := func(names ...string) func(*run.Order) { return func(o *run.Order) { o.Guarded = names } }
	ask := func(digest, approved string) func(*run.Order) {
		return func(o *run.Order) { o.Digest, o.Approved = digest, approved }
	}

	asked := c.fails(c.order(provider.ActionApply, larger, guard("terraform_data")), v1alpha1.ReasonApprovalNeeded)
	if !asked.Guarded || asked.Digest == "" || !strings.Contains(asked.Failure.Message, asked.Digest) || !strings.Contains(asked.Failure.Message, `terraform_data.thing["a"]`) {
		t.Fatalf("a replacement without approval: %+v", asked)
	}
	planned := c.ok(c.order(provider.ActionPlan, larger))
	if !planned.Guarded || planned.Digest != asked.Digest {
		t.Errorf("the plan is guarded %v, and %s instead of %s", planned.Guarded, planned.Digest, asked.Digest)
	}
	seen := c.fails(c.order(provider.ActionApply, larger, ask(planned.Digest, "")), v1alpha1.ReasonApprovalNeeded)
	if seen.Digest != planned.Digest {
		t.Errorf("the plan that was asked for is %s instead of %s", seen.Digest, planned.Digest)
	}
	c.fails(c.order(provider.ActionApply, larger, ask("", strings.Repeat("0", 64))), v1alpha1.ReasonApprovalNeeded)
	done := c.ok(c.order(provider.ActionApply, larger, ask(planned.Digest, planned.Digest)))
	if diff := cmp.Diff([]string{`terraform_data.thing["a"] Replace`}, changed(done.Changes)); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	// What is not guarded needs nobody.
	c.ok(c.order(provider.ActionApply, with("size", "xl"), guard("aws_eks_cluster")))
}
