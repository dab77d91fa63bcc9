// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command infrared-build is what runs in the pod of an OpenTofu Job: install in its init container, run in its main one. It wires
// and decides nothing; package core/build/inside has the rest.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"darkshift.io/infrared/core/build/inside"
	"darkshift.io/infrared/core/build/run"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "infrared-build:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use: "infrared-build", Short: "Carry out one OpenTofu run of a cluster, inside its Job's pod",
		SilenceUsage: true, SilenceErrors: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(installCommand(), runCommand())
	return root
}

func installCommand() *cobra.Command {
	var plugin, plugins, programs string
	c := &cobra.Command{
		Use: "install", Short: "Copy this program and the plugin to where the main container finds them", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return inside.Install(plugins, plugin, programs) },
	}
	c.Flags().StringVar(&plugin, "plugin", "", "file name of the plugin")
	c.Flags().StringVar(&plugins, "plugins", inside.ImagePlugins, "folder that has the plugin")
	c.Flags().StringVar(&programs, "to", run.Programs, "folder that gets both")
	_ = c.MarkFlagRequired("plugin")
	return c
}

func runCommand() *cobra.Command {
	var programs, work, credentials, kubeconfig string
	c := &cobra.Command{
		Use: "run", Short: "Carry out the run that the environment names", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := restConfig(kubeconfig)
			if err != nil {
				return err
			}
			for _, name := range []string{run.EnvNamespace, run.EnvRecord, run.EnvSuffix} {
				if os.Getenv(name) == "" {
					return fmt.Errorf("the environment has no %s: only infrared-operator starts runs, by a Job", name)
				}
			}
			outcome, err := inside.Run{
				Config: config, Namespace: os.Getenv(run.EnvNamespace), Record: os.Getenv(run.EnvRecord), Names: run.Names{Suffix: os.Getenv(run.EnvSuffix)},
				Pod: inside.Pod{
					Job: os.Getenv(run.EnvJob), JobUID: os.Getenv(run.EnvJobUID), Name: os.Getenv(run.EnvPod), UID: os.Getenv(run.EnvPodUID), Node: os.Getenv(run.EnvNode),
				},
				Plugins: inside.PluginFolder(programs), Work: work, Credentials: credentials, Env: pluginEnvironment(), Out: os.Stdout,
			}.Do(c.Context())
			if err == nil && outcome.Failure != nil {
				err = fmt.Errorf("the run failed: %s", outcome.Failure.Reason)
			}
			return err
		},
	}
	c.Flags().StringVar(&programs, "programs", run.Programs, "folder with the programs that install has copied")
	c.Flags().StringVar(&work, "work", run.Work, "folder that OpenTofu works in, the same in every run")
	c.Flags().StringVar(&credentials, "credentials", run.Credentials, "folder with the cloud's credentials, one file a value")
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the API server; empty: the pod's own ServiceAccount")
	return c
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("finding the API server by the pod's ServiceAccount: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return config, nil
}

// pluginEnvironment is what a plugin gets of ours: where programs, temporary files, proxies and authorities are.
func pluginEnvironment() []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if value, found := os.LookupEnv(name); found {
			env = append(env, name+"="+value)
		}
	}
	return env
}
