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
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/owned"
)

// Values of LabelBuild: what an object is.
const (
	kindState   = "state"
	kindPlan    = "plan"
	kindLedger  = "ledger"
	kindRecord  = "record"
	kindLock    = "lock"
	kindAccount = "account"
	kindJob     = "job"
)

// meta is the metadata of an object of a run.
func meta(c *v1alpha1.Cluster, kind, name string) metav1.ObjectMeta {
	labels := owned.Labels(c)
	labels[v1alpha1.LabelBuild] = kind
	return metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name, Labels: labels}
}

// objects are all that a run needs beside its record and Job, empty, in the order in which they are made. A run may not make anything
// itself, for no rule by name allows that.
func objects(c *v1alpha1.Cluster, record string) []client.Object {
	n := namesOf(c)
	var all []client.Object
	for _, name := range append([]string{n.State()}, n.AllParts()...) {
		state := &corev1.Secret{ObjectMeta: meta(c, kindState, name)}
		state.Finalizers = []string{v1alpha1.FinalizerState}
		all = append(all, state)
	}
	plan := &corev1.Secret{ObjectMeta: meta(c, kindPlan, n.Plan())}
	plan.OwnerReferences = []metav1.OwnerReference{owned.Reference(c)}
	return append(all, plan,
		&coordinationv1.Lease{ObjectMeta: meta(c, kindLock, n.Lease())},
		&corev1.ConfigMap{ObjectMeta: meta(c, kindLedger, n.Ledger())},
		&corev1.ServiceAccount{ObjectMeta: meta(c, kindAccount, n.Account())},
		&rbacv1.Role{ObjectMeta: meta(c, kindAccount, n.Account()), Rules: rules(n, record)},
		&rbacv1.RoleBinding{
			ObjectMeta: meta(c, kindAccount, n.Account()),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: n.Account()},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.Namespace, Name: n.Account()}},
		},
	)
}

// rules are what a run may do: read and change its own objects and no others. It may not list, since a list shows all Secrets.
func rules(n run.Names, record string) []rbacv1.PolicyRule {
	verbs := []string{"get", "update"}
	secrets := append([]string{n.State()}, n.AllParts()...)
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: append(secrets, n.Plan()), Verbs: verbs},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{n.Ledger(), record}, Verbs: verbs},
		{APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, ResourceNames: []string{n.Lease()}, Verbs: verbs},
	}
}

// prepare makes what is not there yet, and refuses what is somebody else's.
func (b *Builder) prepare(ctx context.Context, c *v1alpha1.Cluster, record string) error {
	for _, obj := range objects(c, record) {
		if err := b.makeOrAdopt(ctx, c, obj); err != nil {
			return err
		}
	}
	return nil
}

// makeOrAdopt makes an object, or sees that the one which is there is this incarnation's. Only a Role is changed then.
func (b *Builder) makeOrAdopt(ctx context.Context, c *v1alpha1.Cluster, obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, b.Client.Scheme())
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s %s/%s", gvk.Kind, obj.GetNamespace(), obj.GetName())
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(gvk)
	err = b.Live.Get(ctx, client.ObjectKeyFromObject(obj), there)
	if apierrors.IsNotFound(err) {
		if err := b.Client.Create(ctx, obj); err != nil {
			return fmt.Errorf("making %s: %w", what, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", what, err)
	}
	if err := own(there, c, what); err != nil {
		return err
	}
	if role, ok := obj.(*rbacv1.Role); ok {
		return b.setRules(ctx, role)
	}
	return nil
}

// own refuses an object under one of our names that is not ours. One that is on its way out is refused as well, save for a state, which
// its finalizer keeps.
func own(there metav1.Object, c *v1alpha1.Cluster, what string) error {
	switch other := owned.OtherCluster(there, c); {
	case owned.By(there, c) && there.GetDeletionTimestamp().IsZero(),
		owned.By(there, c) && slices.Contains(there.GetFinalizers(), v1alpha1.FinalizerState):
		return nil
	case owned.By(there, c):
		return refused{what + " is being deleted; the run waits until it is gone"}
	case other == c.Name:
		return refused{what + " belongs to an earlier Cluster of this name: see what it still holds, then delete it"}
	case other != "":
		return refused{fmt.Sprintf("%s belongs to Cluster %s: give this Cluster another name", what, other)}
	}
	return refused{what + " is there, and Infrared has not made it: move it out of the way"}
}

// makeJob makes the Job of a run. One that is there may be another operator's, which the next look will find, or a stranger's.
func (b *Builder) makeJob(ctx context.Context, c *v1alpha1.Cluster, job *batchv1.Job) error {
	err := b.Client.Create(ctx, job)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var there batchv1.JobList
	listErr := b.Live.List(ctx, &there, client.InNamespace(job.Namespace), client.MatchingFields{"metadata.name": job.Name})
	if listErr != nil {
		return fmt.Errorf("looking at Job %q: %w", job.Name, listErr)
	}
	for i := range there.Items {
		if err := own(&there.Items[i], c, fmt.Sprintf("Job %s/%s", job.Namespace, job.Name)); err != nil {
			return err
		}
	}
	return err
}

// setRules has a Role name the record of the run that comes.
func (b *Builder) setRules(ctx context.Context, want *rbacv1.Role) error {
	var role rbacv1.Role
	if err := b.Live.Get(ctx, client.ObjectKeyFromObject(want), &role); err != nil {
		return fmt.Errorf("reading Role %q: %w", want.Name, err)
	}
	if equality.Semantic.DeepEqual(role.Rules, want.Rules) {
		return nil
	}
	role.Rules = want.Rules
	if err := b.Client.Update(ctx, &role); err != nil {
		return fmt.Errorf("changing Role %q: %w", want.Name, err)
	}
	return nil
}

// writeRecord makes the record of a run that comes. One of an operator that died before it made the Job is written anew.
func (b *Builder) writeRecord(ctx context.Context, c *v1alpha1.Cluster, name string, id identity, order run.Order) error {
	packed, err := run.Pack(order)
	if err != nil {
		return err
	}
	stored := &corev1.ConfigMap{ObjectMeta: meta(c, kindRecord, name), BinaryData: map[string][]byte{run.KeyOrder: packed}}
	metav1.SetMetaDataAnnotation(&stored.ObjectMeta, annotationRun, id.text())
	err = b.Client.Create(ctx, stored)
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making record %q: %w", name, err)
	}
	var there corev1.ConfigMap
	if err := b.Live.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: name}, &there); err != nil {
		return fmt.Errorf("reading record %q: %w", name, err)
	}
	if err := own(&there, c, fmt.Sprintf("ConfigMap %s/%s", v1alpha1.Namespace, name)); err != nil {
		return err
	}
	there.Labels, there.BinaryData, there.Data = stored.Labels, stored.BinaryData, nil
	metav1.SetMetaDataAnnotation(&there.ObjectMeta, annotationRun, id.text())
	if err := b.Client.Update(ctx, &there); err != nil {
		return fmt.Errorf("writing record %q anew: %w", name, err)
	}
	return nil
}
