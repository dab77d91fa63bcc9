// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command infrared-operator runs the controllers. It wires and decides nothing.
package main

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/cluster"
	"darkshift.io/infrared/sdk/connect"
)

type options struct {
	managementName string
	allow          prefixes
	leaderElect    bool
	metrics        string
	probes         string
}

func main() {
	opts := options{}
	// --kubeconfig is controller-runtime's own flag.
	flag.StringVar(&opts.managementName, "management-cluster", "management", "name of the Cluster that stands for the cluster Infrared runs on")
	flag.Var(&opts.allow, "allow-address", "addresses that platform clusters may be at although they belong to this machine or its link, such as 127.0.0.0/8 for a stack on one machine; repeatable")
	flag.BoolVar(&opts.leaderElect, "leader-elect", true, "let one of several replicas work at a time")
	flag.StringVar(&opts.metrics, "metrics-bind-address", "127.0.0.1:8080", "address of the metrics, or 0 for none")
	flag.StringVar(&opts.probes, "health-probe-bind-address", "127.0.0.1:8081", "address of /healthz and /readyz")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	if err := run(opts); err != nil {
		fmt.Fprintln(os.Stderr, "infrared-operator:", err)
		os.Exit(1)
	}
}

func run(opts options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster (flag --kubeconfig): %w", err)
	}
	// The API server's priority and fairness decide, not a limit of ours.
	config.QPS, config.Burst = -1, 0
	config.UserAgent = "infrared-operator/" + version()
	ctx := ctrl.SetupSignalHandler()
	mgr, err := newManager(config, opts)
	if err != nil {
		return err
	}
	r := &cluster.Reconciler{
		Client:         mgr.GetClient(),
		Live:           mgr.GetAPIReader(),
		Events:         mgr.GetEventRecorder("infrared-operator"),
		Clock:          clock.RealClock{},
		Self:           cluster.SelfFrom(config),
		Connect:        connect.Connect,
		Allow:          opts.allow,
		ManagementName: opts.managementName,
	}
	if err := r.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, opts options) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme:                        scheme,
		Cache:                         cluster.CacheOptions(),
		Client:                        cluster.ClientOptions(),
		Metrics:                       metricsserver.Options{BindAddress: opts.metrics},
		HealthProbeBindAddress:        opts.probes,
		LeaderElection:                opts.leaderElect,
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

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// prefixes is a flag of addresses in CIDR form.
type prefixes []netip.Prefix

func (p *prefixes) String() string {
	var texts []string
	for _, prefix := range *p {
		texts = append(texts, prefix.String())
	}
	return strings.Join(texts, ",")
}

// Set adds one prefix.
func (p *prefixes) Set(text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return fmt.Errorf("want addresses as 127.0.0.0/8: %w", err)
	}
	*p = append(*p, prefix)
	return nil
}
