// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

// Advance takes a Cluster that lives, and has spec.template, as far as it can get now. A run that goes is never cut short: what the
// Cluster asks for by now waits for its end.
func (b *Builder) Advance(ctx context.Context, c *v1alpha1.Cluster) (Turn, error) {
	want := wanted(c)
	w, err := b.look(ctx, c)
	if stands := broken(err); stands != nil {
		return b.stuck(ctx, c, w, want, stands)
	}
	if err != nil {
		return Turn{}, err
	}
	f, err := b.follow(ctx, c, w, want)
	if err != nil || f.goes {
		return f.Turn, err
	}
	if err := b.keepPlan(ctx, c, &f.Turn, want); err != nil {
		return f.Turn, err
	}
	if !due(c, w, f.Turn, want) {
		return f.Turn, nil
	}
	return b.begin(ctx, c, w, f.Turn, want)
}

// due says whether the Cluster asks for a run that was not made yet.
func due(c *v1alpha1.Cluster, w *world, t Turn, want identity) bool {
	newest := w.newest()
	if newest == nil || newest.Inputs != want.Inputs {
		return true
	}
	// A person has approved the very plan at which the run has stopped.
	stopped := t.Run.Reason == v1alpha1.ReasonApprovalNeeded || t.Run.Reason == v1alpha1.ReasonPlanChanged
	digest := c.Annotations[v1alpha1.AnnotationApprovePlan]
	return stopped && t.Plan != nil && t.Plan.Digest == digest && newest.Approved != digest
}

// stop is why a run can't begin now.
type stop struct {
	phase           v1alpha1.RunPhase
	reason, message string
	// after is when to look again; zero: a watch will tell.
	after time.Duration
}

// failed is the stop of a run that can't begin until somebody does something.
func failed(reason, format string, args ...any) *stop {
	return &stop{phase: v1alpha1.RunFailed, reason: reason, message: fmt.Sprintf(format, args...)}
}

// begin makes a run, if nothing stands in the way.
func (b *Builder) begin(ctx context.Context, c *v1alpha1.Cluster, w *world, t Turn, id identity) (Turn, error) {
	if going := w.going(); going != "" {
		if t.Run == nil {
			t.Run = stopped(c, id, failed(v1alpha1.ReasonBusy, "%s of an earlier Cluster of this name has not ended; the run waits for it.", going))
		}
		t.After = sooner(t.After, lookAtPod)
		return t, nil
	}
	id.Number, id.Attempt = w.next(id.Job)
	id.Approved = c.Annotations[v1alpha1.AnnotationApprovePlan]
	order, found, stands, err := b.compose(ctx, c, w, id)
	if err == nil && stands == nil {
		stands, err = b.credentials(ctx, c, found)
	}
	if err == nil && stands == nil {
		var held string
		if held, err = b.unlock(ctx, c, w); held != "" {
			stands = failed(v1alpha1.ReasonStateLocked, "%s", held)
			stands.after = lookAgain
		}
	}
	if err != nil {
		return t, err
	}
	if stands == nil {
		if usable(b, t.Plan, id) {
			order.Digest, order.DigestExpires = t.Plan.Digest, t.Plan.ExpiresAt.Time
		}
		return b.start(ctx, c, w, t, id, *order, found)
	}
	t.Run = stopped(c, id, stands)
	t.After = sooner(t.After, stands.after)
	return t, nil
}

// stopped is the status of a run that can't begin.
func stopped(c *v1alpha1.Cluster, id identity, s *stop) *v1alpha1.RunStatus {
	return &v1alpha1.RunStatus{
		Generation: c.Generation, Action: id.Action, Inputs: id.Inputs,
		Phase: s.phase, Reason: s.reason, Message: cut(s.message, longestMessage),
	}
}

// start makes all that a run needs, and its Job last.
func (b *Builder) start(ctx context.Context, c *v1alpha1.Cluster, w *world, t Turn, id identity, order run.Order, found Found) (Turn, error) {
	if current, err := b.current(ctx, c); err != nil || !current {
		t.After = sooner(t.After, lookSoon)
		return t, err
	}
	if waits, err := b.clear(ctx, c, w, id); err != nil || waits {
		t.After = sooner(t.After, lookSoon)
		return t, err
	}
	name := run.RecordName(id.Job, c.Spec.Incarnation, id.Attempt)
	err := b.prepare(ctx, c, name)
	if err == nil {
		err = b.writeRecord(ctx, c, name, id, order)
	}
	job := b.job(c, id, name, found, order.Image)
	if err == nil {
		err = b.makeJob(ctx, c, job)
	}
	if apierrors.IsAlreadyExists(err) {
		t.After = sooner(t.After, lookSoon)
		return t, nil
	}
	if stands := refusal(err); stands != nil {
		t.Run = stopped(c, id, stands)
		t.After = sooner(t.After, stands.after)
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("starting run %q: %w", id.Job, err)
	}
	t.Run = statusOf(c, record{identity: id, name: name}, job)
	t.Run.Message = "Waits for its pod."
	t.After = sooner(t.After, podGrace)
	return t, nil
}

// current says whether the Cluster is still as the caller has it, whose cache may be behind: a run is made for what is asked for now, and
// not for what was.
func (b *Builder) current(ctx context.Context, c *v1alpha1.Cluster) (bool, error) {
	var now v1alpha1.Cluster
	if err := b.Live.Get(ctx, client.ObjectKeyFromObject(c), &now); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading Cluster %s: %w", c.Name, err)
	}
	return now.UID == c.UID && now.Generation == c.Generation && now.DeletionTimestamp.IsZero() == c.DeletionTimestamp.IsZero(), nil
}

// refused is an error that no trying again mends.
type refused struct{ why string }

// Error says what was refused, and the way out.
func (r refused) Error() string { return r.why }

// refusal is what a run stops at when the API server does not let it be made; nil: err is none, or may pass by itself.
func refusal(err error) *stop {
	var ours refused
	switch {
	case errors.As(err, &ours):
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
	default:
		return nil
	}
	s := failed(v1alpha1.ReasonStartRefused, "The run can't be made: %v", err)
	s.after = lookAgain
	return s
}

// sooner is the shorter of two times to wait, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
