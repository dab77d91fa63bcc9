// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/deletion"
	"darkshift.io/infrared/core/pipeline"
)

// soon is a requeue at once, by way of the queue, so that each move of the pipeline is written before the next.
const soon = time.Nanosecond

// delete moves the deletion on by one step. The finalizer goes in one place only: here, when the pipeline has finished and its
// record is written.
func (r *Reconciler) delete(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(s.Cluster, v1alpha1.FinalizerDeletion) {
		return ctrl.Result{}, nil
	}
	r.looks.forget(s.Name)
	s.Status.ObservedGeneration = s.Generation
	deletion.Confirm(s.Cluster, r.Clock.Now(), s.retracted != nil)
	if s.Status.Deletion == nil || s.Status.Deletion.StartedAt == nil {
		return r.begin(s)
	}
	force, refused := forced(s.Cluster)
	if followed(force, s.Status.Deletion.Steps) {
		return ctrl.Result{RequeueAfter: soon}, r.dropForce(ctx, s, "")
	}
	again, refusedAgain, err := r.again(ctx, s, force)
	if err != nil {
		return ctrl.Result{}, err
	}
	if again || refusedAgain != "" {
		force, refused = nil, refusedAgain // no step is moved past
	}
	work := &deletion.Scope{Cluster: s.stored, Client: r.Client, Live: r.Live, Claims: r.claims, Builder: r.Builder, Again: again}
	result := r.plan.Advance(ctx, work, &s.Status.Deletion.Steps, r.Clock.Now(), force)
	r.summarise(s)
	refused = cmp.Or(refused, result.ForceRefused)
	anew := s.takeTeardown(work.Turn)
	if again && anew {
		s.event(ctx, r.Events, false, "DestroyAgain", "Delete", s.Annotations[v1alpha1.AnnotationForceBy]+" has the destroy run again.")
	}
	if refused != "" || again && anew {
		return ctrl.Result{RequeueAfter: soon}, r.dropForce(ctx, s, refused)
	}
	if !result.Finished {
		return ctrl.Result{RequeueAfter: result.After}, nil
	}
	return ctrl.Result{}, r.finish(ctx, s)
}

// begin starts a deletion that was confirmed. One that was not, because the CRD was deleted or the policies were away, waits for a
// person and touches nothing; the management cluster's waits for ever.
func (r *Reconciler) begin(s *scope) (ctrl.Result, error) {
	wait := func(message string) (ctrl.Result, error) {
		s.Status.Deletion = &v1alpha1.DeletionStatus{Step: "Confirm", State: v1alpha1.StepWaitingOnYou, Message: message}
		return ctrl.Result{RequeueAfter: resync}, nil
	}
	if s.Spec.Type == v1alpha1.Management {
		return wait("The management cluster can't be deleted, and nothing was done. Restore its Cluster from a backup, or take Infrared out as a whole.")
	}
	if !deletion.Confirmed(s.Cluster) {
		return wait(deletion.HowToConfirm(s.Cluster))
	}
	s.Status.Deletion = &v1alpha1.DeletionStatus{
		StartedAt: v1alpha1.Seconds(r.Clock.Now()),
		Backup:    s.Annotations[v1alpha1.AnnotationBackup] != "false",
		State:     v1alpha1.StepRunning,
		Message:   "The deletion begins.",
	}
	return ctrl.Result{RequeueAfter: soon}, nil
}

// summarise says of the whole deletion what its current step says.
func (r *Reconciler) summarise(s *scope) {
	d := s.Status.Deletion
	if step := r.plan.Current(d.Steps); step != nil {
		d.Step, d.State, d.Message = step.Name, step.State, step.Message
		return
	}
	if n := len(d.Steps); n > 0 {
		last := d.Steps[n-1]
		d.Step, d.State, d.Message = last.Name, last.State, last.Message
	}
}

// finish writes the record, which outlives the Cluster, and then lets the Cluster go.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	if err := s.patchStatus(ctx, r.Client); err != nil {
		return err
	}
	if err := deletion.Record(ctx, r.Client, s.Cluster, r.Clock.Now()); err != nil {
		return err
	}
	if s.Spec.Template != nil {
		// That all is destroyed is written down by now. Before, the state has to stay.
		if err := r.Builder.Forget(ctx, s.stored); err != nil {
			return err
		}
	}
	err := s.patch(ctx, r.Client, func(c *v1alpha1.Cluster) {
		controllerutil.RemoveFinalizer(c, v1alpha1.FinalizerDeletion)
	})
	if err != nil {
		return fmt.Errorf("letting the Cluster go: %w", err)
	}
	// There may be no object any more to write to.
	s.Status = s.stored.Status
	return nil
}

// forced reads the annotations by which a person forces a step, or why they can't be followed.
func forced(cluster *v1alpha1.Cluster) (*pipeline.Force, string) {
	word, ok := cluster.Annotations[v1alpha1.AnnotationForce]
	if !ok {
		return nil, ""
	}
	name, step, _ := strings.Cut(word, "/")
	by := cluster.Annotations[v1alpha1.AnnotationForceBy]
	switch {
	case name != cluster.Name || step == "":
		return nil, fmt.Sprintf("%s must be %s/<step>", v1alpha1.AnnotationForce, cluster.Name)
	case by == "":
		return nil, fmt.Sprintf("%s must name the user who forces", v1alpha1.AnnotationForceBy)
	}
	return &pipeline.Force{Step: step, By: by}, ""
}

// again reports whether a person has asked to run the destroy once more, which is what forcing that step means. It is refused while a
// run still goes. The word stays until another run has begun, since that may have to wait.
func (r *Reconciler) again(ctx context.Context, s *scope, force *pipeline.Force) (again bool, refused string, err error) {
	step := r.plan.Current(s.Status.Deletion.Steps)
	if force == nil || force.Step != deletion.StepDestroy || step == nil || step.Name != force.Step || s.Spec.Template == nil {
		return false, "", nil
	}
	running, err := r.Builder.Stop(ctx, s.stored)
	switch {
	case err != nil:
		return false, "", fmt.Errorf("looking for runs: %w", err)
	case running:
		return false, "a run still goes: wait for its end, which the step shows, before you run the destroy again", nil
	}
	return true, "", nil
}

// takeTeardown writes down how far the destroy is, and reports whether another run than before is told of. One that could not begin yet, for
// want of a plugin that runs, is none.
func (s *scope) takeTeardown(turn *build.Turn) (anew bool) {
	if turn == nil {
		return false
	}
	before := s.Status.Run
	s.takeTurn(*turn)
	now := s.Status.Run
	return now != nil && now.Record != "" && (before == nil || now.Record != before.Record || now.Attempt != before.Attempt)
}

// followed reports whether the word to force a step has been carried out.
func followed(force *pipeline.Force, steps []v1alpha1.StepStatus) bool {
	return force != nil && slices.ContainsFunc(steps, func(step v1alpha1.StepStatus) bool {
		return step.Name == force.Step && step.State == v1alpha1.StepForced
	})
}

// dropForce takes a word off that was followed, or was not and why, so that it does not come true by itself when the step gets Stuck later.
func (r *Reconciler) dropForce(ctx context.Context, s *scope, why string) error {
	if err := s.patchStatus(ctx, r.Client); err != nil {
		return err
	}
	err := s.patch(ctx, r.Client, func(c *v1alpha1.Cluster) {
		delete(c.Annotations, v1alpha1.AnnotationForce)
		delete(c.Annotations, v1alpha1.AnnotationForceBy)
	})
	if err != nil {
		return fmt.Errorf("dropping the annotation %s: %w", v1alpha1.AnnotationForce, err)
	}
	if why != "" {
		s.event(ctx, r.Events, true, "ForceRefused", "Delete", why)
	}
	return nil
}
