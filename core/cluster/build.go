// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/deletion"
)

// Builder has OpenTofu run for Clusters; it is a *build.Builder but for tests.
type Builder interface {
	deletion.Builder
	// Advance takes a Cluster that lives, and has spec.template, as far as it can get now.
	Advance(ctx context.Context, c *v1alpha1.Cluster) (build.Turn, error)
	// Stop says whether a run of the Cluster still goes.
	Stop(ctx context.Context, c *v1alpha1.Cluster) (running bool, err error)
	// Forget takes away what runs needed, once all is destroyed.
	Forget(ctx context.Context, c *v1alpha1.Cluster) error
}

var _ Builder = (*build.Builder)(nil)

// build has OpenTofu do what spec.template and spec.provision ask for, and takes over how far that is. Where that can't be done now, the
// reason is in s.unbuilt, and makes the reconcile be done again.
func (r *Reconciler) build(ctx context.Context, s *scope) (build.Turn, error) {
	if s.Spec.Template == nil {
		return build.Turn{}, nil
	}
	if err := r.guarded(ctx, s); err != nil {
		return build.Turn{}, err
	}
	turn, err := r.Builder.Advance(ctx, s.Cluster)
	switch {
	case apierrors.IsConflict(err), ofCluster(err, s.Name):
		return build.Turn{}, err
	case err != nil:
		// What was built before is looked at all the same, and its token renewed, by what is known of it.
		s.unbuilt = fmt.Errorf("running OpenTofu: %w", err)
		turn = build.Turn{Run: s.Status.Run, Plan: s.Status.Plan, Built: s.Status.Built}
	}
	s.takeTurn(turn)
	s.Status.Provider = cmp.Or(s.Status.Provider, cloudOf(s.Cluster))
	s.Status.Region = cmp.Or(s.Status.Region, regionOf(s.Cluster))
	return turn, nil
}

// guarded makes sure, before anything is made for a run, that the Cluster is really kept by our finalizer. An API server that has begun
// to delete an object without finalizers removes it even where a finalizer is written meanwhile, and what a run then made would be
// nobody's. A conflict makes the reconciler begin anew with what is there.
func (r *Reconciler) guarded(ctx context.Context, s *scope) error {
	if s.Status.Run != nil && s.Status.Run.Job != "" {
		return nil // a run was begun, so it was kept before
	}
	var now v1alpha1.Cluster
	if err := r.Live.Get(ctx, types.NamespacedName{Name: s.Name}, &now); err != nil {
		return err
	}
	if now.UID != s.UID || !now.DeletionTimestamp.IsZero() || now.Spec.Incarnation != s.Spec.Incarnation ||
		!controllerutil.ContainsFinalizer(&now, v1alpha1.FinalizerDeletion) {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("clusters").GroupResource(), s.Name,
			errors.New("it is another by now, or on its way out"))
	}
	return nil
}

// takeTurn writes down how far the runs are. The token is none of theirs.
func (s *scope) takeTurn(turn build.Turn) {
	before := s.Status.Built
	s.Status.Run, s.Status.Plan, s.Status.Built = turn.Run, turn.Plan, turn.Built.DeepCopy()
	if s.Status.Built != nil && before != nil {
		s.Status.Built.TokenMadeAt, s.Status.Built.TokenExpiresAt = before.TokenMadeAt, before.TokenExpiresAt
	}
}

// notBuilt says of a cluster of which no apply has succeeded why it isn't there, with what to do next.
func (s *scope) notBuilt() {
	run := s.Status.Run
	switch {
	case run == nil:
		s.set(v1alpha1.ConditionConnected, metav1.ConditionUnknown, v1alpha1.ReasonBuilding, "The first OpenTofu run is being prepared.")
	case run.Phase == v1alpha1.RunRunning, run.Phase == v1alpha1.RunSucceeded && run.Action == v1alpha1.ActionApply:
		s.set(v1alpha1.ConditionConnected, metav1.ConditionUnknown, v1alpha1.ReasonBuilding, doing(run))
	case run.Phase == v1alpha1.RunWaitingForCredentials:
		s.setConnected(false, cmp.Or(run.Reason, v1alpha1.ReasonWaitingForCredentials), sentence(run.Message))
	case run.Phase == v1alpha1.RunFailed:
		s.setConnected(false, cmp.Or(run.Reason, v1alpha1.ReasonProviderFailed), broke(run))
	default:
		s.setConnected(false, v1alpha1.ReasonNotBuilt, s.planned())
	}
}

// doing says what a run that goes is about, and where to follow it.
func doing(run *v1alpha1.RunStatus) string {
	what := "OpenTofu builds the cluster."
	if run.Action == v1alpha1.ActionPlan {
		what = "OpenTofu works out what it would build; nothing is made."
	}
	if log := run.Log(); log != "" {
		what += " Follow it: " + log + "."
	}
	return what
}

// broke says why a run failed, and where to read on.
func broke(run *v1alpha1.RunStatus) string {
	message := sentence(cmp.Or(run.Message, fmt.Sprintf("The %s failed.", run.Action)))
	if log := run.Log(); log != "" {
		message += " Its log: " + log + "."
	}
	return message
}

// planned says what the newest plan would build, and how to have that done.
func (s *scope) planned() string {
	plan := s.Status.Plan
	if plan == nil {
		return "Nothing is built, and no plan is left to apply. Plan again: kubectl patch cluster " + s.Name +
			" --type=merge -p " + fmt.Sprintf(`'{"spec":{"provision":{"run":%d}}}'`, s.provision().Run+1)
	}
	n := plan.Counts
	message := fmt.Sprintf("Nothing is built yet. The plan would create %d, update %d, replace %d and delete %d things; status.plan lists them", n.Create, n.Update, n.Replace, n.Delete)
	if log := s.Status.Run.Log(); log != "" && s.Status.Run.Action == v1alpha1.ActionPlan {
		message += ", and all of it is in its log: " + log
	}
	message += ". Build it, which costs money: kubectl patch cluster " + s.Name + ` --type=merge -p '{"spec":{"provision":{"action":"apply"}}}'`
	if plan.Approve != "" {
		message += " and, since it would destroy or replace something, approve that: kubectl annotate cluster " + s.Name + " " + plan.Approve
	}
	return message
}

// provision is spec.provision, or what it means to leave it out.
func (s *scope) provision() v1alpha1.Provision {
	if s.Spec.Provision == nil {
		return v1alpha1.Provision{Action: v1alpha1.ActionPlan}
	}
	return *s.Spec.Provision
}

// askedRegion is the cloud's region or zone that a Cluster is asked to be in, or "". A template that asks for a region has it among its
// variables, and the CRD lets no other stand in spec.region.
func askedRegion(c *v1alpha1.Cluster) string {
	if c.Spec.Region == "" && c.Spec.Template != nil && c.Spec.Provision != nil {
		return string(c.Spec.Provision.Variables["region"])
	}
	return c.Spec.Region
}

// regionOf is the cloud's region or zone that a Cluster is in, as far as that is known.
func regionOf(c *v1alpha1.Cluster) string { return cmp.Or(askedRegion(c), c.Status.Region) }
