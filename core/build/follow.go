// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

// How long until the next look at what no watch tells for sure.
const (
	// lookAtPod is for a pod that does not start.
	lookAtPod = 10 * time.Second
	// lookAtRun is for a run that goes, and lookAgain for what keeps one from beginning.
	lookAtRun = 30 * time.Second
	lookAgain = 15 * time.Second
	// lookSoon is for what the API server is just doing.
	lookSoon = time.Second
)

// followed is what the newest run has come to.
type followed struct {
	Turn
	// goes says that the run has not ended.
	goes bool
}

// follow says how far the newest run is, and does what there is to do at its end. want is the run that is asked for by now.
func (b *Builder) follow(ctx context.Context, c *v1alpha1.Cluster, w *world, want identity) (followed, error) {
	f := followed{Turn: Turn{Plan: c.Status.Plan.DeepCopy(), Built: c.Status.Built.DeepCopy(), Applied: w.ledger.Applied}}
	newest := w.newest()
	if newest == nil {
		return f, nil
	}
	if known := c.Status.Run; known != nil && known.Record == newest.name && ended(known.Phase) && (newest.ended != "" || newest.uid == "") {
		f.Run = known.DeepCopy()
		return f, nil
	}
	told, err := b.read(ctx, *newest)
	if err != nil {
		return f, err
	}
	job, pods := w.jobOf(*newest), w.podsOf(*newest)
	f.Run = statusOf(c, *newest, job)
	f.Run.Events = events(told.progress)
	if f.Run.Events == nil && c.Status.Run != nil && c.Status.Run.Record == newest.name {
		f.Run.Events = c.Status.Run.Events
	}
	if goes(job, pods) {
		f.goes = true
		f.Run.Message, f.After = b.running(c, *newest, job, pods, told)
		withdrawn, err := b.withdraw(ctx, c, *newest, want, job, pods, told)
		if withdrawn {
			f.Run.Message, f.After = withdrawal(*newest), lookSoon
		}
		return f, err
	}
	if told.outcome != nil {
		tell(c, f.Run, *told.outcome)
	} else {
		f.Run.Phase = v1alpha1.RunFailed
		f.Run.Reason, f.Run.Message = lost(c, *newest, job, pods)
		if told.withdrawn() && w.ledger.Running != newest.name {
			f.Run.Reason, f.Run.Message = v1alpha1.ReasonStartRefused, withdrawal(*newest)+" "+wayOn(c, *newest)
		}
		f.Run.EndedAt = b.endOf(c, *newest, job)
	}
	if err := b.enrich(ctx, c, f.Run); err != nil {
		return f, err
	}
	f.Plan = planAfter(f.Plan, *newest, told.outcome)
	if newest.Action == v1alpha1.ActionApply && f.Run.Phase == v1alpha1.RunSucceeded {
		f.Built = built(f.Built, *newest, *told.outcome)
	}
	return f, b.finish(ctx, c, w, f, told)
}

// goes says whether anything of a run may still be at work.
func goes(job *batchv1.Job, pods []corev1.Pod) bool {
	if job != nil && !finished(job) {
		return true
	}
	for i := range pods {
		if !podEnded(&pods[i]) {
			return true
		}
	}
	return false
}

func ended(phase v1alpha1.RunPhase) bool {
	return phase == v1alpha1.RunSucceeded || phase == v1alpha1.RunFailed
}

// statusOf is the status of a run that goes.
func statusOf(c *v1alpha1.Cluster, r record, job *batchv1.Job) *v1alpha1.RunStatus {
	s := &v1alpha1.RunStatus{
		Job: r.Job, Record: r.name, Generation: r.Generation, Attempt: r.Attempt, Action: r.Action, Inputs: r.Inputs,
		Phase: v1alpha1.RunRunning,
	}
	if known := c.Status.Run; known != nil && known.Record == r.name {
		s.StartedAt = known.StartedAt
	}
	if job != nil {
		s.StartedAt = job.CreationTimestamp.DeepCopy()
	}
	return s
}

// tell puts into the status how a run has ended.
func tell(c *v1alpha1.Cluster, s *v1alpha1.RunStatus, outcome run.Outcome) {
	at := seconds(outcome.EndedAt)
	s.EndedAt = &at
	done := counts(outcome.Changes)
	if outcome.Failure == nil || len(outcome.Changes) > 0 {
		s.Counts, s.Changes = &done, shownChanges(outcome.Changes)
	}
	if resources := int32(len(outcome.Resources)); outcome.Failure == nil || resources > 0 { //nolint:gosec // far below 2^31
		s.Resources = &resources
	}
	s.LeftBehind = shownLeft(outcome.LeftBehind)
	if failure := outcome.Failure; failure != nil {
		s.Phase, s.Reason, s.Message = v1alpha1.RunFailed, failure.Reason, failure.Message
		if failure.Field != "" {
			s.Message = inSpec(failure.Field) + ": " + s.Message
		}
		s.Message = cut(s.Message, longestMessage-longestLine) + wayOnWithPlan(c, s, outcome)
		return
	}
	s.Phase = v1alpha1.RunSucceeded
	s.Message = success(c, s, outcome, done)
}

// wayOnWithPlan is how a person has a plan applied at which an apply has stopped; "": it stopped at none, or has said so itself.
func wayOnWithPlan(c *v1alpha1.Cluster, s *v1alpha1.RunStatus, outcome run.Outcome) string {
	stopped := s.Reason == v1alpha1.ReasonApprovalNeeded || s.Reason == v1alpha1.ReasonPlanChanged
	switch {
	case !stopped || outcome.Digest == "" || strings.Contains(s.Message, outcome.Digest):
		return ""
	case outcome.Guarded:
		return " To approve it and have it applied: " + annotate(c, v1alpha1.AnnotationApprovePlan, outcome.Digest)
	}
	return " To have it applied: " + raise(c)
}

// success says what a run has done.
func success(c *v1alpha1.Cluster, s *v1alpha1.RunStatus, outcome run.Outcome, done v1alpha1.ChangeCounts) string {
	nothing := done == v1alpha1.ChangeCounts{}
	var message string
	switch {
	case s.Action == v1alpha1.ActionPlan && nothing:
		return "No changes: what is there is what the Cluster asks for."
	case s.Action == v1alpha1.ActionPlan:
		message = "An apply would " + inWords(done, "create", "update", "replace", "delete") + "."
		if outcome.Guarded {
			message += " It needs an approval first: " + annotate(c, v1alpha1.AnnotationApprovePlan, outcome.Digest) + "; then set"
		} else {
			message += " To have it so, set"
		}
		return message + " spec.provision.action to apply."
	case nothing:
		message = "Nothing had to be changed."
	default:
		message = "Done: " + inWords(done, "created", "updated", "replaced", "deleted") + "."
	}
	if left := len(outcome.LeftBehind); left > 0 {
		message += fmt.Sprintf(" Left behind, neither in OpenTofu's state nor gone: %d, listed in leftBehind.", left)
	}
	return message
}

// endOf is when a run ended that did not say so itself.
func (b *Builder) endOf(c *v1alpha1.Cluster, r record, job *batchv1.Job) *metav1.Time {
	if job != nil {
		for _, cond := range job.Status.Conditions {
			if cond.Status == corev1.ConditionTrue && (cond.Type == batchv1.JobComplete || cond.Type == batchv1.JobFailed) {
				return cond.LastTransitionTime.DeepCopy()
			}
		}
	}
	if known := c.Status.Run; known != nil && known.Record == r.name && known.EndedAt != nil {
		return known.EndedAt.DeepCopy()
	}
	now := seconds(b.now())
	return &now
}

// built is what the newest apply has built.
func built(before *v1alpha1.BuiltStatus, r record, outcome run.Outcome) *v1alpha1.BuiltStatus {
	b := before.DeepCopy()
	if b == nil {
		b = &v1alpha1.BuiltStatus{}
	}
	b.Generation, b.Version, b.At = r.Generation, r.Version, seconds(outcome.EndedAt)
	return b
}

// finish does what there is to do at a run's end. Each step may be done again, and the mark comes last: an operator that dies
// in between leaves a run that the next one finishes.
func (b *Builder) finish(ctx context.Context, c *v1alpha1.Cluster, w *world, f followed, told report) error {
	newest := w.newest()
	if newest.ended != "" {
		return nil
	}
	// An OpenTofu that was killed could not let go of its lock itself, and that its pod has ended is known for as long as the pod is there.
	if _, err := b.unlock(ctx, c, w); err != nil {
		return err
	}
	if b.Accounts != nil {
		if err := b.Accounts.Drop(ctx, c); err != nil {
			return fmt.Errorf("dropping the credentials of %q: %w", newest.Job, err)
		}
	}
	if f.Plan == nil {
		if err := b.emptyPlan(ctx, c); err != nil {
			return err
		}
	}
	if err := b.prune(ctx, w); err != nil {
		return err
	}
	how := succeeded
	if f.Run.Phase != v1alpha1.RunSucceeded {
		how = f.Run.Reason
	}
	newest.ended = how
	return b.mark(ctx, told.stored, how)
}
