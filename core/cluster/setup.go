// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/argo"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/core/deletion"
	"darkshift.io/infrared/core/inflight"
)

// kubeconfigSecretIndex finds the Clusters that name a kubeconfig Secret.
const kubeconfigSecretIndex = "spec.connection.kubeconfigSecretRef.name"

// workers reconcile at the same time. None of them waits for a cluster, so a few are enough for hundreds.
const workers = 8

// SetupWithManager starts the reconciler with the manager. ctx bounds what it asks of clusters.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.argo = &argo.Secrets{Client: r.Client, Live: r.Live}
	r.claims = &claim.Store{Client: r.Client, Live: r.Live}
	r.plan = deletion.Plan()
	wake := make(chan event.TypedGenericEvent[string], 1024)
	group := inflight.New[lookKey, finding](ctx, inflight.Limits{All: looksAtOnce, Bucket: looksAtOnceOfOne}, r.Clock.Now, func(key lookKey) {
		select {
		case wake <- event.TypedGenericEvent[string]{Object: key.cluster}:
		case <-ctx.Done():
		}
	})
	r.looks = newLooks(group, r.Clock.Now, cmp.Or(r.LookEvery, resync))
	wake <- event.TypedGenericEvent[string]{Object: r.ManagementName}

	err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Cluster{}, kubeconfigSecretIndex, func(obj client.Object) []string {
		if c := obj.(*v1alpha1.Cluster); c.Spec.Connection != nil {
			return []string{c.Spec.Connection.KubeconfigSecretRef.Name}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing Clusters: %w", err)
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	told := &metav1.PartialObjectMetadata{}
	told.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	ofRun := handler.EnqueueRequestsFromMapFunc(clusterOfLabel)
	return ctrl.NewControllerManagedBy(mgr).
		Named("cluster").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, time.Minute),
		}).
		For(&v1alpha1.Cluster{}, builder.WithPredicates(r.retracted.watch(), changedByOthers())).
		WatchesMetadata(secret, handler.EnqueueRequestsFromMapFunc(r.clustersOfSecret)).
		Watches(&corev1.ConfigMap{}, claimHandler(r)).
		Watches(&v1alpha1.Provider{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfProvider), builder.WithPredicates(becameHealthy())).
		Watches(&batchv1.Job{}, ofRun).
		Watches(&corev1.Pod{}, ofRun).
		WatchesRawSource(source.Kind(r.Runs, told, handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, obj *metav1.PartialObjectMetadata) []reconcile.Request {
				return clusterOfLabel(ctx, obj)
			}))).
		WatchesRawSource(source.TypedChannel(wake, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, name string) []reconcile.Request {
			return []reconcile.Request{request(name)}
		}))).
		Complete(r)
}

// changedByOthers lets through what somebody other than the reconciler's own status write changed.
func changedByOthers() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetGeneration() != after.GetGeneration() ||
			!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
			!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
			!maps.Equal(before.GetLabels(), after.GetLabels()) ||
			!equality.Semantic.DeepEqual(before.GetDeletionTimestamp(), after.GetDeletionTimestamp())
	}}
}

// clustersOfSecret are the Clusters that a Secret in our namespaces may be for: those that name it, and the one that it is marked or
// named for, so that what somebody took off it is put back.
func (r *Reconciler) clustersOfSecret(ctx context.Context, obj client.Object) []reconcile.Request {
	var requests []reconcile.Request
	if name := obj.GetLabels()[v1alpha1.LabelCluster]; name != "" {
		requests = append(requests, request(name))
	}
	if obj.GetNamespace() == v1alpha1.ArgoNamespace {
		if name, ok := strings.CutPrefix(obj.GetName(), v1alpha1.ArgoSecretName("")); ok {
			requests = append(requests, request(name))
		}
		return requests
	}
	if name, ok := strings.CutPrefix(obj.GetName(), "cluster-"); ok {
		// The cloud's credentials, which carry no mark of ours, and somebody else's Secret under the name of a kubeconfig that Infrared makes.
		for _, suffix := range []string{"-credentials", "-kubeconfig"} {
			if name, ok := strings.CutSuffix(name, suffix); ok {
				requests = append(requests, request(name))
			}
		}
	}
	var named v1alpha1.ClusterList
	if err := r.Client.List(ctx, &named, client.MatchingFields{kubeconfigSecretIndex: obj.GetName()}); err != nil {
		return requests // the cache is not there yet, and will bring every Cluster itself
	}
	for i := range named.Items {
		requests = append(requests, request(named.Items[i].Name))
	}
	return requests
}

// claimHandler wakes the Cluster that a claim is marked for and, when a claim goes, those that waited for one.
func claimHandler(r *Reconciler) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	owner := func(q queue, obj client.Object) {
		if name := obj.GetLabels()[v1alpha1.LabelCluster]; name != "" {
			q.Add(request(name))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { owner(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			owner(q, e.ObjectOld)
			owner(q, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			owner(q, e.Object)
			for _, waiting := range r.refusedAsRegistered(ctx) {
				q.Add(waiting)
			}
		},
	}
}

// refusedAsRegistered are the Clusters whose API server another one has.
func (r *Reconciler) refusedAsRegistered(ctx context.Context) []reconcile.Request {
	var all v1alpha1.ClusterList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil // the cache is not there yet, and will bring every Cluster itself
	}
	var requests []reconcile.Request
	for i := range all.Items {
		c := meta.FindStatusCondition(all.Items[i].Status.Conditions, v1alpha1.ConditionConnected)
		if c != nil && c.Reason == v1alpha1.ReasonAlreadyRegistered {
			requests = append(requests, request(all.Items[i].Name))
		}
	}
	return requests
}

func request(cluster string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: cluster}}
}
