// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// becameHealthy lets through a Provider whose plugin can be used from now on, and one whose plugin is another process: after a restart of
// the operator, which leaves the condition as it is, runs wait for it.
func becameHealthy() predicate.Predicate {
	healthy := func(obj client.Object) bool {
		p, ok := obj.(*v1alpha1.Provider)
		return ok && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionHealthy)
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return healthy(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return healthy(e.ObjectNew) && (!healthy(e.ObjectOld) || pidOf(e.ObjectOld) != pidOf(e.ObjectNew))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

func pidOf(obj client.Object) int32 {
	if p, ok := obj.(*v1alpha1.Provider); ok {
		return p.Status.PID
	}
	return 0
}

// clustersOfProvider are the Clusters that only waited for a Provider's plugin: those that are due for a look now, and those that are built
// through it.
func (r *Reconciler) clustersOfProvider(ctx context.Context, provider client.Object) []reconcile.Request {
	requests := r.builtThrough(ctx, provider)
	for _, name := range r.looks.hurry(provider.GetName()) {
		requests = append(requests, request(name))
	}
	return requests
}

// builtThrough are the Clusters with a template of the Provider's.
func (r *Reconciler) builtThrough(ctx context.Context, provider client.Object) []reconcile.Request {
	p, ok := provider.(*v1alpha1.Provider)
	var all v1alpha1.ClusterList
	if err := r.Client.List(ctx, &all); !ok || err != nil {
		return nil // the cache is not there yet, and will bring every Cluster itself
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if c := &all.Items[i]; c.Spec.Template != nil && p.Status.Provider != "" && cloudOf(c) == p.Status.Provider {
			requests = append(requests, request(c.Name))
		}
	}
	return requests
}

// clusterOfLabel is the Cluster whose something is by its label.
func clusterOfLabel(_ context.Context, obj client.Object) []reconcile.Request {
	if name := obj.GetLabels()[v1alpha1.LabelCluster]; name != "" {
		return []reconcile.Request{request(name)}
	}
	return nil
}
