// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package owned marks objects on the management cluster as belonging to one incarnation of a Cluster, and takes such objects
// away again.
//
// A mark is three things: labels that name the Cluster and its incarnation, an owner reference, so that garbage collection is
// the last resort, and the finalizer that keeps the object until its step of the deletion. Only an object whose label carries
// the very incarnation is ever deleted.
package owned

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// Reference is the owner reference to a Cluster. It is no controller reference: a person's Secret may have a controller already.
func Reference(cluster *v1alpha1.Cluster) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       "Cluster",
		Name:       cluster.Name,
		UID:        cluster.UID,
	}
}

// Labels are the labels of everything made for the Cluster.
func Labels(cluster *v1alpha1.Cluster) map[string]string {
	return map[string]string{
		v1alpha1.LabelCluster:     cluster.Name,
		v1alpha1.LabelIncarnation: cluster.Spec.Incarnation,
	}
}

// By reports whether the object is of just this incarnation. Labels say so first: they survive a restore from a backup, and a policy
// lets nobody take them off a Secret of ours. Where they are off all the same, the owner reference does. A finalizer alone says
// nothing: two Clusters may name one Secret.
func By(obj metav1.Object, cluster *v1alpha1.Cluster) bool {
	if label := obj.GetLabels()[v1alpha1.LabelIncarnation]; label != "" {
		return label == cluster.Spec.Incarnation && obj.GetLabels()[v1alpha1.LabelCluster] == cluster.Name
	}
	return slices.ContainsFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return toCluster(r) && r.UID == cluster.UID
	})
}

func toCluster(ref metav1.OwnerReference) bool {
	return ref.Kind == "Cluster" && strings.HasPrefix(ref.APIVersion, v1alpha1.GroupVersion.Group+"/")
}

// OtherCluster is the name of another Cluster that the object belongs to, by label or owner reference, or "".
func OtherCluster(obj metav1.Object, cluster *v1alpha1.Cluster) string {
	if By(obj, cluster) {
		return ""
	}
	if name := obj.GetLabels()[v1alpha1.LabelCluster]; name != "" {
		return name
	}
	for _, ref := range obj.GetOwnerReferences() {
		if toCluster(ref) && ref.UID != cluster.UID {
			return ref.Name
		}
	}
	return ""
}

// Others reports whether the object is another Cluster's, or an earlier incarnation's of this name.
func Others(obj metav1.Object, cluster *v1alpha1.Cluster) bool {
	marked := obj.GetLabels()[v1alpha1.LabelIncarnation] != "" && !By(obj, cluster)
	return marked || OtherCluster(obj, cluster) != ""
}

// Mark puts what is missing of the mark on the object, and reports whether anything was.
func Mark(obj metav1.Object, cluster *v1alpha1.Cluster) bool {
	changed := Refer(obj, cluster)
	if obj.GetDeletionTimestamp().IsZero() && !slices.Contains(obj.GetFinalizers(), v1alpha1.FinalizerDisconnect) {
		obj.SetFinalizers(append(obj.GetFinalizers(), v1alpha1.FinalizerDisconnect))
		changed = true
	}
	return changed
}

// Refer is Mark without the finalizer, for objects whose loss costs nothing.
func Refer(obj metav1.Object, cluster *v1alpha1.Cluster) bool {
	changed := Label(obj, cluster)
	want := Reference(cluster)
	refs := obj.GetOwnerReferences()
	if !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool {
		return r.UID == want.UID && r.Name == want.Name && r.Kind == want.Kind
	}) {
		obj.SetOwnerReferences(append(refs, want))
		changed = true
	}
	return changed
}

// Label is Refer without the owner reference, for objects that stay when the Cluster goes.
func Label(obj metav1.Object, cluster *v1alpha1.Cluster) bool {
	changed := false
	labels := obj.GetLabels()
	for key, value := range Labels(cluster) {
		if labels[key] == value {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
		changed = true
	}
	obj.SetLabels(labels)
	return changed
}

// HandBack takes the whole mark off an object that the Cluster no longer names; it is again whose it was before.
func HandBack(ctx context.Context, c client.Client, obj client.Object, cluster *v1alpha1.Cluster) error {
	before := obj.DeepCopyObject().(client.Object)
	labels := obj.GetLabels()
	delete(labels, v1alpha1.LabelCluster)
	delete(labels, v1alpha1.LabelIncarnation)
	obj.SetLabels(labels)
	obj.SetOwnerReferences(slices.DeleteFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == cluster.UID }))
	controllerutil.RemoveFinalizer(obj, v1alpha1.FinalizerDisconnect)
	err := c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("handing %s back: %w", client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// Secrets are the metadata of the Secrets in namespace infrared that are marked as the Cluster's and may hold a credential for it. What
// OpenTofu's runs keep is none, and outlives those: its state is gone only when all that it lists is destroyed. Nor are the cloud's
// credentials, which a destroy needs, and which are the person's who made them.
func Secrets(ctx context.Context, reader client.Reader, cluster *v1alpha1.Cluster) ([]metav1.PartialObjectMetadata, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	marked, err := labels.ValidatedSelectorFromSet(Labels(cluster))
	if err != nil {
		return nil, fmt.Errorf("the labels of Cluster %s: %w", cluster.Name, err)
	}
	noState, err := labels.NewRequirement(v1alpha1.LabelBuild, selection.DoesNotExist, nil)
	if err != nil {
		return nil, fmt.Errorf("the label %s: %w", v1alpha1.LabelBuild, err)
	}
	err = reader.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.MatchingLabelsSelector{Selector: marked.Add(*noState)})
	if err != nil {
		return nil, fmt.Errorf("listing the Secrets of Cluster %s: %w", cluster.Name, err)
	}
	clouds := v1alpha1.CredentialsSecretName(cluster.Name)
	return slices.DeleteFunc(list.Items, func(secret metav1.PartialObjectMetadata) bool { return secret.Name == clouds }), nil
}

// Release takes our finalizer off an object, so that a deletion asked for by somebody else can end. An object that has gone or
// has no finalizer of ours is fine.
func Release(ctx context.Context, c client.Client, obj client.Object) error {
	if !controllerutil.ContainsFinalizer(obj, v1alpha1.FinalizerDisconnect) {
		return nil
	}
	before := obj.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(obj, v1alpha1.FinalizerDisconnect)
	// The lock matters: a merge patch replaces the whole list, and would drop a finalizer that came meanwhile.
	err := c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("taking our finalizer off %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// Remove deletes the object named by key, if it belongs to this incarnation, and says what still keeps it: "" when it is gone, or
// was never ours. obj is an empty object of the kind; reader reads past any cache.
func Remove(ctx context.Context, c client.Client, reader client.Reader, obj client.Object, key types.NamespacedName, cluster *v1alpha1.Cluster) (string, error) {
	switch err := reader.Get(ctx, key, obj); {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking at %s: %w", key, err)
	case !By(obj, cluster):
		return "", nil
	}
	if obj.GetDeletionTimestamp().IsZero() {
		// Deleted first and released second: between the two the object is already on its way, so a crash leaves nothing that
		// looks alive and unguarded.
		uid := obj.GetUID()
		err := c.Delete(ctx, obj, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("deleting %s: %w", key, err)
		}
		if err := reader.Get(ctx, key, obj); err != nil {
			return "", client.IgnoreNotFound(err)
		}
	}
	if err := Release(ctx, c, obj); err != nil {
		return "", err
	}
	switch err := reader.Get(ctx, key, obj); {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking at %s: %w", key, err)
	}
	if !By(obj, cluster) {
		return "", nil
	}
	return "finalizers " + strings.Join(slices.Sorted(slices.Values(obj.GetFinalizers())), ", "), nil
}
