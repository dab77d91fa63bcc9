// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

// conflictWait is how long to wait for the cache to catch up with a write.
const conflictWait = 250 * time.Millisecond

// Host runs plugins; it is a *pluginhost.Host but for tests. None of its methods waits for a plugin.
type Host interface {
	Ensure(name string, spec pluginhost.Spec)
	Remove(name string)
	State(name string) (pluginhost.State, bool)
	Provider(name, cloud string) provider.Provider
}

// Reconciler reconciles Providers. All fields are required.
type Reconciler struct {
	// Client reads Providers and Clusters from the cache, and writes.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Events records what happened to a Provider.
	Events events.EventRecorder
	// Host runs the plugins.
	Host Host

	restarts restarts
	waker    waker
}

// Reconcile has the host do what one Provider asks for, and writes down how it fares.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.Provider{}
	err := r.Client.Get(ctx, req.NamespacedName, p)
	if apierrors.IsNotFound(err) {
		r.forget(req.Name)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading Provider %s: %w", req.Name, err)
	}
	s := newScope(p)
	err = r.reconcile(ctx, s)
	switch {
	case apierrors.IsConflict(err):
		// The cache was behind. Nothing is lost: the next turn begins with what is there.
		return ctrl.Result{RequeueAfter: conflictWait}, nil
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("provider %s: %w", req.Name, err)
	}
	s.report(ctx, r.Events)
	return ctrl.Result{}, nil
}

func (r *Reconciler) reconcile(ctx context.Context, s *scope) error {
	r.recall(s)
	deleting := !s.DeletionTimestamp.IsZero()
	if deleting {
		gone, err := r.letGo(ctx, s)
		if gone || err != nil {
			return err
		}
	}
	// The finalizer first, so that no plugin is started for what may go at any moment.
	if !deleting && !controllerutil.ContainsFinalizer(s.Provider, v1alpha1.FinalizerPlugin) {
		if err := s.patchFinalizers(ctx, r.Client, controllerutil.AddFinalizer); err != nil {
			return err
		}
	}
	var all v1alpha1.ProviderList
	if err := r.Client.List(ctx, &all); err != nil {
		return fmt.Errorf("listing Providers: %w", err)
	}
	var clusters v1alpha1.ClusterList
	if err := r.Client.List(ctx, &clusters); err != nil {
		return fmt.Errorf("listing Clusters: %w", err)
	}
	r.run(s, all.Items, clusters.Items)
	s.finish(users(s.Provider, clusters.Items, all.Items))
	return s.patchStatus(ctx, r.Client)
}

// recall fills in what the host knows of the plugin where the status has lost it, as when a Provider is restored from a copy without
// one: who uses a plugin is told by its cloud.
func (r *Reconciler) recall(s *scope) {
	if s.Status.Provider != "" {
		return
	}
	if state, ok := r.Host.State(s.Name); ok {
		s.learn(state)
	}
}

// run has the host run the plugin, unless another Provider has its cloud, and takes over what the host says of it.
func (r *Reconciler) run(s *scope, all []v1alpha1.Provider, clusters []v1alpha1.Cluster) {
	s.begin()
	if owner := ownerBefore(s.Provider, all); owner != "" {
		r.stop(s, owner)
		return
	}
	r.Host.Ensure(s.Name, specOf(s.Provider))
	state, ok := r.Host.State(s.Name)
	if !ok {
		return // the host is closing
	}
	s.hear(state, users(s.Provider, clusters, all))
	// Only now is it known which cloud the plugin is for.
	if owner := ownerBefore(s.Provider, all); owner != "" {
		r.stop(s, owner)
		return
	}
	s.Status.Restarts = r.restarts.count(s.Provider, state)
}

func (r *Reconciler) stop(s *scope, owner string) {
	r.forget(s.Name)
	s.taken(owner)
}

// letGo ends a Provider that is being deleted and that nobody uses. It asks past the cache, which may not have the newest Cluster yet.
func (r *Reconciler) letGo(ctx context.Context, s *scope) (gone bool, err error) {
	if !controllerutil.ContainsFinalizer(s.Provider, v1alpha1.FinalizerPlugin) {
		r.forget(s.Name)
		s.stopped() // somebody else's finalizer keeps it
		return true, s.patchStatus(ctx, r.Client)
	}
	var clusters v1alpha1.ClusterList
	if err := r.Live.List(ctx, &clusters); err != nil {
		return false, fmt.Errorf("listing Clusters: %w", err)
	}
	var all v1alpha1.ProviderList
	if err := r.Client.List(ctx, &all); err != nil {
		return false, fmt.Errorf("listing Providers: %w", err)
	}
	if len(users(s.Provider, clusters.Items, all.Items)) > 0 {
		return false, nil
	}
	r.forget(s.Name)
	return true, s.patchFinalizers(ctx, r.Client, controllerutil.RemoveFinalizer)
}

// forget stops the plugin of that name.
func (r *Reconciler) forget(name string) {
	r.Host.Remove(name)
	r.restarts.forget(name)
}

func specOf(p *v1alpha1.Provider) pluginhost.Spec {
	return pluginhost.Spec{Binary: p.Spec.Binary, SHA256: p.Spec.SHA256}
}
