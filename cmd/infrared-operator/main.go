// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command infrared-operator runs the controllers. It wires and decides nothing.
package main

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"darkshift.io/infrared/core/operator"
)

func main() {
	var opts operator.Options
	// --kubeconfig is controller-runtime's own flag.
	flag.StringVar(&opts.ManagementName, "management-cluster", "management", "name of the Cluster that stands for the cluster Infrared runs on")
	flag.Var((*prefixes)(&opts.Allow), "allow-address", "addresses that platform clusters may be at although they belong to this machine or its link, such as 127.0.0.0/8 for a stack on one machine; repeatable")
	flag.BoolVar(&opts.LeaderElect, "leader-elect", true, "let one of several replicas work at a time")
	flag.StringVar(&opts.MetricsAddress, "metrics-bind-address", "127.0.0.1:8080", "address of the metrics, or 0 for none")
	flag.StringVar(&opts.ProbeAddress, "health-probe-bind-address", "127.0.0.1:8081", "address of /healthz and /readyz, or 0 for none")
	flag.StringVar(&opts.PluginFolder, "plugins", operator.DefaultPluginFolder, "folder with the provider plugins that Providers name; nothing outside of it is ever run")
	flag.StringVar(&opts.AttachProviders, "attach-providers", os.Getenv("INFRARED_ATTACH_PROVIDERS"), "plugins that somebody else runs, by Provider, as the JSON that <plugin> serve --debug prints; for an author's machine only, since nothing checks them; INFRARED_ATTACH_PROVIDERS in the environment is the same")
	flag.StringVar(&opts.BuildImage, "build-image", operator.DefaultBuildImage, "image with infrared-build and the provider plugins, from which each OpenTofu run takes its programs")
	flag.StringVar(&opts.TofuImage, "tofu-image", operator.DefaultTofuImage, "image that holds OpenTofu, for clusters whose spec.provision.image is empty; name it by its digest, so that it stays the same")
	flag.StringVar(&opts.ModulesURL, "modules-url", "", "where the modules of the cluster templates are, in OpenTofu's words, with {module} and {version} in it; empty takes the ones that the plugins bring along")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))
	if err := run(opts); err != nil {
		fmt.Fprintln(os.Stderr, "infrared-operator:", err)
		os.Exit(1)
	}
}

func run(opts operator.Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster (flag --kubeconfig): %w", err)
	}
	config.UserAgent = "infrared-operator"
	return operator.Run(ctrl.SetupSignalHandler(), config, opts)
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
		return fmt.Errorf("want addresses such as 127.0.0.0/8: %w", err)
	}
	*p = append(*p, prefix)
	return nil
}
