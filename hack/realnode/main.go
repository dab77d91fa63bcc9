// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command realnode is a Kubernetes node with a real kubelet and a real container engine, for the tests that must see a pod as a
// cluster would run it. It takes the arguments of the process node (hack/node), so that the local stack runs either.
//
// It runs as root on Linux, on Debian's containerd, runc and CNI plugins. Pods can't reach the API server by a Service, since the
// stack has none: `realnode policy` prints an admission policy that gives pods the machine's network and the API server's address.
//
//	realnode run     the node, until SIGTERM; pods go on
//	realnode stop    end all pods of a node that doesn't run, and remove its images too with --purge
//	realnode policy  print the admission policy
//	realnode pause   wait for ever; the pause image runs it
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"darkshift.io/infrared/hack/realnode/internal/engine"
)

const usage = `usage: realnode run --name localhost --root FOLDER --images FILE --kubeconfig FILE --client-ca-file FILE --kubelet FILE [--port N]
       realnode stop --root FOLDER [--grace SECONDS] [--purge]
       realnode policy --api-address HOST:PORT`

func main() {
	if err := dispatch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "realnode:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch args[0] {
	case "run":
		return run(ctx, args[1:])
	case "stop":
		return stopPods(ctx, args[1:])
	case "policy":
		return printPolicy(args[1:])
	case "pause":
		<-ctx.Done()
		return nil
	}
	return fmt.Errorf("no command %q; %s", args[0], usage)
}

func run(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	o := engine.Options{Self: self, Out: os.Stderr}
	set := flag.NewFlagSet("realnode run", flag.ContinueOnError)
	set.StringVar(&o.Name, "name", "localhost", "the node's name, under which the API server finds it; the kubeconfig's user must be system:node:<name> in group system:nodes")
	set.StringVar(&o.Root, "root", "", "folder that keeps everything of the node")
	set.StringVar(&o.Images, "images", "", "table of images, YAML; it may change at any time")
	set.StringVar(&o.Kubeconfig, "kubeconfig", "", "how to reach the API server")
	set.StringVar(&o.Kubelet, "kubelet", filepath.Join(filepath.Dir(self), "kubelet"), "the kubelet's binary")
	set.StringVar(&o.ClientCA, "client-ca-file", "", "authority of those who may ask for logs")
	set.StringVar(&o.Cert, "tls-cert-file", "", "serving certificate (default one signed by itself)")
	set.StringVar(&o.Key, "tls-private-key-file", "", "key of the serving certificate")
	set.IntVar(&o.Port, "port", 10250, "port on 127.0.0.1 for the API server's questions")
	if err := set.Parse(args); err != nil {
		return err
	}
	for _, flag := range []struct {
		name string
		path *string
	}{{"root", &o.Root}, {"images", &o.Images}, {"kubeconfig", &o.Kubeconfig}, {"client-ca-file", &o.ClientCA}, {"kubelet", &o.Kubelet}} {
		if *flag.path == "" {
			return fmt.Errorf("--%s is missing; %s", flag.name, usage)
		}
		if *flag.path, err = filepath.Abs(*flag.path); err != nil {
			return err
		}
	}
	if _, err := os.Stat(o.Kubelet); err != nil {
		return fmt.Errorf("the kubelet is not there: %w: run ir dev build kubelet", err)
	}
	return engine.Run(ctx, o)
}

func stopPods(ctx context.Context, args []string) error {
	var root string
	var grace int
	var purge bool
	set := flag.NewFlagSet("realnode stop", flag.ContinueOnError)
	set.StringVar(&root, "root", "", "folder of the node")
	set.IntVar(&grace, "grace", 10, "seconds that containers may take to end")
	set.BoolVar(&purge, "purge", false, "remove the folder too, images included")
	if err := set.Parse(args); err != nil {
		return err
	}
	if root == "" {
		return fmt.Errorf("--root is missing; %s", usage)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	return engine.Stop(ctx, root, time.Duration(grace)*time.Second, purge)
}
