// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
)

// releaseOrphans lets go of Secrets on their way out whose Cluster is no more. An API server that has begun to delete an object without
// finalizers removes it even where a finalizer is written meanwhile: then the Cluster is gone without its pipeline, and the garbage
// collector waits for ever for our finalizer on what was marked just before.
func (r *Reconciler) releaseOrphans(ctx context.Context, name string) error {
	var now v1alpha1.Cluster
	if err := r.Live.Get(ctx, types.NamespacedName{Name: name}, &now); !apierrors.IsNotFound(err) {
		return err // it is there, or nothing is known
	}
	for _, namespace := range []string{v1alpha1.Namespace, v1alpha1.ArgoNamespace} {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if err := r.Cached.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelCluster: name}); err != nil {
			return fmt.Errorf("listing the Secrets of Cluster %s: %w", name, err)
		}
		for i := range list.Items {
			secret := &list.Items[i]
			if secret.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(secret, v1alpha1.FinalizerDisconnect) {
				continue
			}
			secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
			if err := owned.Release(ctx, r.Client, secret); err != nil {
				return err
			}
		}
	}
	return nil
}
