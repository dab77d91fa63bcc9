// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"slices"
	"sync"
	"time"

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
)

// SetupWithManager starts the reconciler with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("provider").
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, time.Minute),
		}).
		For(&v1alpha1.Provider{}).
		// A Provider whose cloud turns out, changes or goes may make way for another, or put it out.
		Watches(&v1alpha1.Provider{}, handler.EnqueueRequestsFromMapFunc(r.others), builder.WithPredicates(cloudChanged())).
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.usedBy), builder.WithPredicates(useChanged())).
		WatchesRawSource(source.Func(r.waker.start)).
		Complete(r)
}

// Wake has the Provider of that name looked at. The host calls it when a plugin's state has changed; it never waits.
func (r *Reconciler) Wake(name string) { r.waker.wake(name) }

// cloudChanged lets through Providers that come or go with a cloud, or change theirs.
func cloudChanged() predicate.Predicate {
	cloud := func(obj client.Object) string { return obj.(*v1alpha1.Provider).Status.Provider }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return cloud(e.Object) != "" },
		UpdateFunc: func(e event.UpdateEvent) bool { return cloud(e.ObjectOld) != cloud(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return cloud(e.Object) != "" },
	}
}

// useChanged lets through Clusters that come, go or change their provider.
func useChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(cloudsOf(e.ObjectOld.(*v1alpha1.Cluster)), cloudsOf(e.ObjectNew.(*v1alpha1.Cluster)))
	}}
}

// others are all Providers; there are few.
func (r *Reconciler) others(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.those(ctx, func(*v1alpha1.Provider) bool { return true })
}

// usedBy are the Providers that a Cluster uses.
func (r *Reconciler) usedBy(ctx context.Context, obj client.Object) []reconcile.Request {
	clouds := cloudsOf(obj.(*v1alpha1.Cluster))
	return r.those(ctx, func(p *v1alpha1.Provider) bool { return slices.Contains(clouds, p.Status.Provider) })
}

func (r *Reconciler) those(ctx context.Context, want func(*v1alpha1.Provider) bool) []reconcile.Request {
	var all v1alpha1.ProviderList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil // the cache is not there yet, and will bring every Provider itself
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if want(&all.Items[i]) {
			requests = append(requests, request(all.Items[i].Name))
		}
	}
	return requests
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// waker puts names into the controller's queue. Before there is one nothing is lost: a controller begins with everything.
type waker struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func (w *waker) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	return nil
}

func (w *waker) wake(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.queue.Add(request(name))
	}
}
