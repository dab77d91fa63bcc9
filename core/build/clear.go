// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/owned"
)

// mostRecords is how many runs of a Cluster are kept, beside its newest apply, and the one that a destroy goes by.
const mostRecords = 10

// clear takes out of the way what has the names of a run that is to begin, and says whether that has to be waited for.
func (b *Builder) clear(ctx context.Context, c *v1alpha1.Cluster, w *world, id identity) (waits bool, err error) {
	// A run that never began must not begin later: without its record it reads no order.
	if left := w.unbegun; left != nil && left.name != run.RecordName(id.Job, c.Spec.Incarnation, id.Attempt) {
		if err := b.remove(ctx, recordObject(left.name), left.uid); err != nil {
			return false, err
		}
	}
	for i := range w.jobs {
		// It has ended, or nothing would begin now; its record has another name, and stays.
		if old := &w.jobs[i]; old.Name == id.Job {
			return true, b.remove(ctx, old, old.UID)
		}
	}
	return false, nil
}

// prune deletes records of old runs.
func (b *Builder) prune(ctx context.Context, w *world) error {
	if len(w.records) <= mostRecords {
		return nil
	}
	apply := w.newestOf(v1alpha1.ActionApply)
	changed, _, err := b.newestChange(ctx, w)
	if err != nil && broken(err) == nil {
		return err
	}
	for i, r := range w.records {
		if i < mostRecords || r.uid == "" || apply != nil && r.name == apply.name || changed != nil && r.name == changed.name {
			continue
		}
		if err := b.remove(ctx, recordObject(r.name), r.uid); err != nil {
			return err
		}
	}
	return nil
}

func recordObject(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name}}
}

// remove deletes just this object, and not one that was made under its name since. A Job's pods go with it.
func (b *Builder) remove(ctx context.Context, obj client.Object, uid types.UID) error {
	err := b.Client.Delete(ctx, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting %q: %w", obj.GetName(), err)
	}
	return nil
}

// Stop says whether a run of the Cluster still goes. It is waited for and never killed.
func (b *Builder) Stop(ctx context.Context, c *v1alpha1.Cluster) (running bool, err error) {
	w, err := b.look(ctx, c)
	if err != nil && broken(err) == nil {
		return false, err
	}
	return w.going() != "", nil
}

// Forget takes away what runs needed, once a destroy is Done: state, plan, ledger, lock and rights. Records and Jobs stay for a week
// after their run.
func (b *Builder) Forget(ctx context.Context, c *v1alpha1.Cluster) error {
	w, err := b.look(ctx, c)
	if err != nil && broken(err) == nil {
		return err
	}
	if going := w.going(); going != "" {
		return fmt.Errorf("forgetting the runs of Cluster %s: %s has not ended", c.Name, going)
	}
	if w.unbegun != nil {
		w.records = append(w.records, *w.unbegun)
	}
	job := w.newestJob(c)
	for _, r := range w.records {
		if err := b.handOver(ctx, job, r); err != nil {
			return err
		}
	}
	n := namesOf(c)
	var all []client.Object
	for _, name := range append(n.AllParts(), n.State(), n.Plan()) {
		all = append(all, &corev1.Secret{ObjectMeta: named(name)})
	}
	all = append(all, &coordinationv1.Lease{ObjectMeta: named(n.Lease())}, &corev1.ConfigMap{ObjectMeta: named(n.Ledger())},
		&rbacv1.RoleBinding{ObjectMeta: named(n.Account())}, &rbacv1.Role{ObjectMeta: named(n.Account())},
		&corev1.ServiceAccount{ObjectMeta: named(n.Account())})
	for _, obj := range all {
		if err := b.drop(ctx, c, obj); err != nil {
			return err
		}
	}
	return nil
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name}
}

// newestJob is the Job of this incarnation that was made last, or nil.
func (w *world) newestJob(c *v1alpha1.Cluster) *batchv1.Job {
	var newest *batchv1.Job
	for i := range w.jobs {
		job := &w.jobs[i]
		if owned.By(job, c) && (newest == nil || newest.CreationTimestamp.Before(&job.CreationTimestamp)) {
			newest = job
		}
	}
	return newest
}

// handOver lets a record go with the last Job, which the API server deletes a week after it ended. Without a Job it goes now.
func (b *Builder) handOver(ctx context.Context, job *batchv1.Job, r record) error {
	if r.uid == "" {
		return nil
	}
	if job == nil {
		return b.remove(ctx, recordObject(r.name), r.uid)
	}
	var stored corev1.ConfigMap
	if err := b.Live.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: r.name}, &stored); err != nil {
		return client.IgnoreNotFound(err)
	}
	owner := []metav1.OwnerReference{{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: job.Name, UID: job.UID,
	}}
	if slices.Equal(stored.OwnerReferences, owner) {
		return nil
	}
	stored.OwnerReferences = owner
	if err := b.Client.Update(ctx, &stored); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("handing record %q over to its Job: %w", r.name, err)
	}
	return nil
}

// drop deletes an object of this incarnation, whatever finalizer of ours it has.
func (b *Builder) drop(ctx context.Context, c *v1alpha1.Cluster, obj client.Object) error {
	switch err := b.Live.Get(ctx, client.ObjectKeyFromObject(obj), obj); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("looking at %q: %w", obj.GetName(), err)
	case !owned.By(obj, c):
		return nil
	}
	// Deleted first and released second, so that a crash in between leaves nothing that looks alive and unguarded.
	if obj.GetDeletionTimestamp().IsZero() {
		if err := b.remove(ctx, obj, obj.GetUID()); err != nil {
			return err
		}
	}
	if !controllerutil.ContainsFinalizer(obj, v1alpha1.FinalizerState) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(obj, v1alpha1.FinalizerState)
	if err := b.Client.Patch(ctx, obj, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking our finalizer off %q: %w", obj.GetName(), err)
	}
	return nil
}
