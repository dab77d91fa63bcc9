// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator is infrared-operator as a whole: the controllers, their cache and their client, behind one call.
package operator

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/cluster"
	"darkshift.io/infrared/sdk/connect"
)

// Options is what the operator can be told.
type Options struct {
	// ManagementName is the name of the Cluster that stands for the cluster Infrared runs on.
	ManagementName string
	// Allow is where platform clusters may be although it is this machine or its link.
	Allow []netip.Prefix
	// LeaderElect lets one of several replicas work at a time.
	LeaderElect bool
	// MetricsAddress and ProbeAddress are host:port, or "0" for none.
	MetricsAddress, ProbeAddress string
	// PluginFolder holds the plugins' programs, and nothing outside of it is ever run; empty is DefaultPluginFolder.
	PluginFolder string
	// AttachProviders is the JSON that a plugin started with serve --debug prints, by the Provider's name; empty for none. Nothing
	// checks such a plugin: for its author's machine only.
	AttachProviders string
	// LookEvery is how often a cluster that is well is looked at, give or take a fifth; zero is five minutes.
	LookEvery time.Duration
	// Clock tells the time; nil is the real one.
	Clock clock.PassiveClock
	// Connect reaches a cluster; nil is connect.Connect.
	Connect func(context.Context, connect.Target) (connect.Cluster, error)
	// Providers finds the plugin of a cluster's cloud; nil goes by the Providers. Only tests set it.
	Providers cluster.Providers
	// Builder has OpenTofu run; nil is a build.Builder with the images below. Only tests set it.
	Builder cluster.Builder
	// BuildImage holds infrared-build and the plugins, TofuImage OpenTofu where a Cluster names no image; empty are the defaults.
	BuildImage, TofuImage string
	// ModulesURL is where the templates' modules are, in OpenTofu's words, with {module} and {version}; empty: in the plugins.
	ModulesURL string
}

// Scheme knows every kind the operator works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, nil
}

// Run runs the controllers against the management cluster until ctx is over.
func Run(ctx context.Context, conf *rest.Config, opts Options) error {
	conf = rest.CopyConfig(conf)
	// The API server's priority and fairness decide, not a limit of ours.
	conf.QPS, conf.Burst = -1, 0
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Connect == nil {
		opts.Connect = connect.Connect
	}
	opts.PluginFolder = cmp.Or(opts.PluginFolder, DefaultPluginFolder)
	mgr, err := newManager(conf, opts)
	if err != nil {
		return err
	}
	plugins, err := setupPlugins(mgr, opts)
	if err != nil {
		return err
	}
	defer plugins.close(ctx)
	if opts.Providers == nil {
		opts.Providers = plugins.registry
	}
	if opts.Builder == nil {
		opts.Builder = newBuilder(mgr, plugins.registry, opts)
	}
	runs, err := cluster.RunsCache(conf, mgr.GetScheme())
	if err != nil {
		return err
	}
	if err := mgr.Add(runs); err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	r := &cluster.Reconciler{
		Client:         mgr.GetClient(),
		Live:           mgr.GetAPIReader(),
		Cached:         mgr.GetCache(),
		Events:         mgr.GetEventRecorder("infrared-operator"),
		Clock:          opts.Clock,
		Self:           cluster.SelfFrom(conf),
		Connect:        opts.Connect,
		Allow:          opts.Allow,
		Providers:      opts.Providers,
		Builder:        opts.Builder,
		Runs:           runs,
		ManagementName: opts.ManagementName,
		LookEvery:      opts.LookEvery,
	}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newBuilder has OpenTofu run in Jobs.
func newBuilder(mgr manager.Manager, templates build.Templates, opts Options) *build.Builder {
	return &build.Builder{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: opts.Clock, Templates: templates,
		BuildImage: cmp.Or(opts.BuildImage, DefaultBuildImage), TofuImage: cmp.Or(opts.TofuImage, DefaultTofuImage), ModulesURL: opts.ModulesURL,
	}
}

func newManager(conf *rest.Config, opts Options) (manager.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	again := true // tests start several in one process; the name only labels metrics
	mgr, err := ctrl.NewManager(conf, manager.Options{
		Scheme:                        scheme,
		Cache:                         cluster.CacheOptions(),
		Client:                        cluster.ClientOptions(),
		Controller:                    config.Controller{SkipNameValidation: &again},
		Metrics:                       metricsserver.Options{BindAddress: opts.MetricsAddress},
		HealthProbeBindAddress:        opts.ProbeAddress,
		LeaderElection:                opts.LeaderElect,
		LeaderElectionID:              "infrared-operator",
		LeaderElectionNamespace:       v1alpha1.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("cache", cluster.CacheSynced(mgr.GetCache()))
}
