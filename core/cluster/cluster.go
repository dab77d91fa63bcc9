// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster reconciles Clusters: it connects to them, registers them with Argo CD, keeps both fresh, and lets them go.
//
// The loop is in this file, one phase a file beside it: build.go has OpenTofu build what is to be built, connect.go reaches the cluster
// by what ways.go found and looks.go asked, through the plugin that plugin.go found for its provider, built.go makes and renews the
// kubeconfig of one that was built, register.go tells Argo CD, delete.go drives the deletion pipeline. Nothing is kept in memory that a
// restart could not learn again, no reconcile waits for a cluster, and a cluster that is quiet causes no write at all.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/argo"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/core/deletion"
	"darkshift.io/infrared/core/pipeline"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// resync is how often a cluster that is well is looked at, where LookEvery says nothing else.
const resync = 5 * time.Minute

// Reconciler reconciles Clusters. All fields but Providers, Allow and LookEvery are required.
type Reconciler struct {
	// Client reads Clusters, claims and the metadata of Secrets from the cache, and writes.
	Client client.Client
	// Live reads past the cache; the content of Secrets is read only so.
	Live client.Reader
	// Cached reads the cache where Client would not: the metadata of Secrets.
	Cached client.Reader
	// Events records what happened to a Cluster.
	Events events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// Self is how to reach the management cluster, read anew at each call since its token changes.
	Self func() (*kubeconfig.Config, error)
	// Providers finds the plugin through which a cluster is reached; nil: there are none.
	Providers Providers
	// Builder has OpenTofu build what spec.template names.
	Builder Builder
	// Runs watches what belongs to the Builder's runs; RunsCache makes it.
	Runs cache.Cache
	// Connect reaches a cluster that no plugin is for; it is connect.Connect but for tests.
	Connect func(context.Context, connect.Target) (connect.Cluster, error)
	// Allow is what a platform cluster may be at besides its policy, such as 127.0.0.0/8 for a stack on one machine.
	Allow []netip.Prefix
	// ManagementName is the name of the Cluster of type management, which the reconciler makes and keeps.
	ManagementName string
	// LookEvery is how often a cluster that is well is looked at, give or take a fifth; zero is five minutes.
	LookEvery time.Duration

	argo   *argo.Secrets
	claims *claim.Store
	plan   pipeline.Pipeline[*deletion.Scope]
	looks  *looks

	retracted retractions
}

// Reconcile moves one Cluster a step towards what it asks for.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := &v1alpha1.Cluster{}
	if err := r.Client.Get(ctx, req.NamespacedName, cluster); err != nil {
		return ctrl.Result{}, r.gone(ctx, req.Name, err)
	}
	s := newScope(cluster)
	s.retracted = r.retracted.of(req.Name)
	result, err := r.reconcile(ctx, s)
	if err == nil {
		err = s.patchStatus(ctx, r.Client)
	}
	if err == nil {
		r.retracted.done(req.Name, s.retracted)
	}
	switch {
	case apierrors.IsConflict(err):
		// The cache was behind. Nothing is lost: the next turn begins with what is there.
		return ctrl.Result{RequeueAfter: jitter(250 * time.Millisecond)}, nil
	case ofCluster(err, req.Name):
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("cluster %s: %w", req.Name, err)
	}
	s.report(ctx, r.Events)
	if s.unbuilt != nil {
		return ctrl.Result{}, fmt.Errorf("cluster %s: %w", req.Name, s.unbuilt)
	}
	return result, nil
}

// ofCluster reports whether an error says that the Cluster itself is gone. Of anything else it says only that something is missing, and
// to look again is then the only way on.
func ofCluster(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	what := status.Status().Details
	return what != nil && what.Group == v1alpha1.GroupVersion.Group && what.Kind == "clusters" && what.Name == name
}

func (r *Reconciler) reconcile(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.DeletionTimestamp.IsZero() {
		return r.delete(ctx, s)
	}
	if refused, err := r.adopt(ctx, s); refused || err != nil {
		return ctrl.Result{}, err
	}
	s.Status.ObservedGeneration = s.Generation
	expiry := deletion.Confirm(s.Cluster, r.Clock.Now(), s.retracted != nil)
	turn, err := r.build(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	access, err := r.connect(ctx, s, turn)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.register(ctx, s, access); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: soonest(soonest(access.next, turn.After), expiry)}, nil
}

// adopt writes the finalizer and the incarnation, both at once and before anything else is made, so that whatever is made later is
// known to be this Cluster's and outlives no deletion. It refuses an incarnation that was let go before.
func (r *Reconciler) adopt(ctx context.Context, s *scope) (refused bool, err error) {
	adopted := controllerutil.ContainsFinalizer(s.Cluster, v1alpha1.FinalizerDeletion) && s.Spec.Incarnation != ""
	// A Cluster from a backup brings the finalizer along, and no status: it is judged like any other new one.
	if adopted && s.Status.ObservedGeneration > 0 {
		return false, nil
	}
	unfit, err := r.unfit(ctx, s)
	if err != nil {
		return false, err
	}
	if unfit != nil {
		s.setConnected(false, unfit.reason, unfit.message)
		return true, nil //nolint:nilerr // the condition tells why
	}
	if adopted {
		return false, nil
	}
	err = s.patch(ctx, r.Client, func(c *v1alpha1.Cluster) {
		controllerutil.AddFinalizer(c, v1alpha1.FinalizerDeletion)
		if c.Spec.Incarnation == "" {
			c.Spec.Incarnation = string(c.UID)
		}
	})
	if err != nil {
		return false, fmt.Errorf("writing finalizer and incarnation: %w", err)
	}
	return false, nil
}

// unfit says why a new Cluster can't be taken on: it has the name of the management cluster, made before there was one, is the management
// cluster for an org, or came with an incarnation that is another's. Two Clusters with one would each take the other's objects for its own.
func (r *Reconciler) unfit(ctx context.Context, s *scope) (*refusal, error) {
	if s.Name == r.ManagementName && s.Spec.Type != v1alpha1.Management {
		return &refusal{v1alpha1.ReasonAlreadyRegistered, fmt.Sprintf(
			"%s is the name of the cluster Infrared runs on. Delete this Cluster, and register the cluster under another name.", s.Name)}, nil
	}
	if refused := orgsManagement(s.Cluster); refused != nil {
		return refused, nil
	}
	if s.Spec.Incarnation == "" || s.Spec.Incarnation == string(s.UID) {
		return nil, nil
	}
	recorded, err := deletion.Recorded(ctx, r.Live, s.Cluster)
	if err != nil {
		return nil, err
	}
	if recorded {
		return &refusal{v1alpha1.ReasonAlreadyDeleted, fmt.Sprintf(
			"spec.incarnation is that of a Cluster that was let go (DeletionRecord %s). Delete this Cluster, and make one without spec.incarnation.",
			v1alpha1.RecordName(s.Name, s.Spec.Incarnation))}, nil
	}
	var all v1alpha1.ClusterList
	if err := r.Client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("listing Clusters: %w", err)
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.UID != s.UID && other.Spec.Incarnation == s.Spec.Incarnation {
			return &refusal{v1alpha1.ReasonIncarnationInUse, fmt.Sprintf(
				"spec.incarnation is that of %s. Delete this Cluster, and make one without spec.incarnation.", s.nameFor(other))}, nil
		}
	}
	return nil, nil
}

// gone handles a Cluster that can't be read. One that isn't there any more is forgotten; the management cluster's is made.
func (r *Reconciler) gone(ctx context.Context, name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	r.looks.forget(name)
	if name != r.ManagementName {
		return r.releaseOrphans(ctx, name)
	}
	return r.makeManagement(ctx)
}

// soonest is the shorter of two waits, of which zero means never.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
