// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/owned"
)

// planLife is how long a plan can be applied.
const planLife = 24 * time.Hour

// planAfter is the plan that counts after a run. outcome is nil where the run told none.
func planAfter(before *v1alpha1.PlanStatus, r record, outcome *run.Outcome) *v1alpha1.PlanStatus {
	// A plan that was made, or the one at which an apply has stopped.
	if outcome != nil && outcome.Digest != "" && (r.Action == v1alpha1.ActionApply) == (outcome.Failure != nil) {
		return planOf(r, *outcome)
	}
	switch {
	case r.Action == v1alpha1.ActionPlan:
		return before
	case r.Action == v1alpha1.ActionApply && outcome != nil && outcome.Failure != nil && len(outcome.Changes) == 0:
		return before // it never got as far as changing anything
	}
	return nil
}

// planOf is the plan that a run has made.
func planOf(r record, outcome run.Outcome) *v1alpha1.PlanStatus {
	p := &v1alpha1.PlanStatus{
		Digest: outcome.Digest, Inputs: r.PlanInputs, Generation: r.Generation,
		MadeAt: seconds(outcome.EndedAt), ExpiresAt: seconds(outcome.EndedAt.Add(planLife)),
		Counts: counts(outcome.Changes), Changes: shownChanges(outcome.Changes),
	}
	if outcome.Guarded {
		p.Approve = v1alpha1.AnnotationApprovePlan + "=" + outcome.Digest
	}
	return p
}

// usable says whether an apply is to do what the plan says.
func usable(b *Builder, plan *v1alpha1.PlanStatus, id identity) bool {
	return id.Action == v1alpha1.ActionApply && plan != nil && plan.Inputs == id.PlanInputs && b.now().Before(plan.ExpiresAt.Time)
}

// keepPlan drops a plan that can't be applied any more, and what was saved of it.
func (b *Builder) keepPlan(ctx context.Context, c *v1alpha1.Cluster, t *Turn, want identity) error {
	if t.Plan != nil && (t.Plan.Inputs != want.PlanInputs || !b.now().Before(t.Plan.ExpiresAt.Time)) {
		t.Plan = nil
	}
	if t.Plan != nil {
		t.After = sooner(t.After, t.Plan.ExpiresAt.Sub(b.now()))
		return nil
	}
	// Once the status is written, the saved plan is known to be gone.
	if c.Status.Plan == nil {
		return nil
	}
	return b.emptyPlan(ctx, c)
}

// emptyPlan takes the saved plan out of its Secret: it holds sensitive values in clear.
func (b *Builder) emptyPlan(ctx context.Context, c *v1alpha1.Cluster) error {
	var saved corev1.Secret
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: namesOf(c).Plan()}
	switch err := b.Live.Get(ctx, key, &saved); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the saved plan of Cluster %s: %w", c.Name, err)
	case !owned.By(&saved, c), len(saved.Data) == 0:
		return nil
	}
	saved.Data = nil
	if err := b.Client.Update(ctx, &saved); err != nil {
		return fmt.Errorf("dropping the saved plan of Cluster %s: %w", c.Name, err)
	}
	return nil
}

// mark writes how a run has ended into its record. A record that somebody has deleted is not made again.
func (b *Builder) mark(ctx context.Context, stored *corev1.ConfigMap, how string) error {
	if stored == nil {
		return nil
	}
	metav1.SetMetaDataAnnotation(&stored.ObjectMeta, annotationEnded, how)
	if err := b.Client.Update(ctx, stored); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("marking record %q as ended: %w", stored.Name, err)
	}
	return nil
}
