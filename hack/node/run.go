// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	vklog "github.com/virtual-kubelet/virtual-kubelet/log"
	vkslog "github.com/virtual-kubelet/virtual-kubelet/log/slog"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"darkshift.io/infrared/hack/node/internal/agent"
	"darkshift.io/infrared/hack/node/internal/image"
	"darkshift.io/infrared/hack/node/internal/kubelet"
)

type runFlags struct {
	name, root, images, kubeconfig  string
	clientCA, cert, key, apiAddress string
	port                            int
	refresh, backoff                time.Duration
}

func parseRun(args []string) (runFlags, error) {
	var f runFlags
	set := flag.NewFlagSet("node run", flag.ContinueOnError)
	set.StringVar(&f.name, "name", "", "the node's name; the kubeconfig's user must be system:node:<name> in group system:nodes")
	set.StringVar(&f.root, "root", "", "folder that keeps the pods")
	set.StringVar(&f.images, "images", "", "table of images, YAML; it may change at any time")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "how to reach the API server")
	set.StringVar(&f.clientCA, "client-ca-file", "", "authority of those who may ask for logs (default that of the kubeconfig)")
	set.StringVar(&f.cert, "tls-cert-file", "", "serving certificate (default one signed by itself)")
	set.StringVar(&f.key, "tls-private-key-file", "", "key of the serving certificate")
	set.IntVar(&f.port, "port", 0, "port on 127.0.0.1 for the API server's questions (default any)")
	set.StringVar(&f.apiAddress, "api-address", "", "host:port at which pods find the API server (default that of the kubeconfig)")
	set.DurationVar(&f.refresh, "refresh", 10*time.Second, "how often volumes of running pods are brought up to date")
	set.DurationVar(&f.backoff, "restart-backoff", 10*time.Second, "wait before a container's second restart; it doubles up to 30 times as much")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	for name, value := range map[string]string{"name": f.name, "root": f.root, "images": f.images, "kubeconfig": f.kubeconfig} {
		if value == "" {
			return f, fmt.Errorf("--%s is missing; %s", name, usage)
		}
	}
	var err error
	f.root, err = filepath.Abs(f.root)
	return f, err
}

func runNode(ctx context.Context, args []string) error {
	f, err := parseRun(args)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx = vklog.WithLogger(ctx, vkslog.FromSlog(log.With("part", "virtual-kubelet")))
	if _, err := image.Load(f.images); err != nil {
		return err
	}
	lock, err := agent.Claim(f.root)
	if err != nil {
		return err
	}
	defer lock.Close()
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = -1, 0 // the API server's fairness decides
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("using the kubeconfig: %w", err)
	}
	options, err := f.options(config, client, log)
	if err != nil {
		return err
	}
	listener, err := f.listen(config)
	if err != nil {
		return err
	}
	return work(ctx, agent.New(options), listener)
}

// work runs the node's parts until one fails or ctx ends.
func work(ctx context.Context, a *agent.Agent, listener net.Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := a.Prepare(ctx); err != nil {
		listener.Close()
		return err
	}
	part := func(run func() error) chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := run(); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		}()
		return done
	}
	port := listener.Addr().(*net.TCPAddr).Port
	parts := []chan struct{}{
		part(func() error { a.Run(ctx); return nil }),
		part(func() error { return kubelet.Server{Client: a.Client, Node: a.Name, Pods: a}.Serve(ctx, listener) }),
		part(func() error { return a.Register(ctx, port) }),
	}
	<-ctx.Done()
	for _, p := range parts {
		<-p
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (f runFlags) options(config *rest.Config, client kubernetes.Interface, log *slog.Logger) (agent.Options, error) {
	address := f.apiAddress
	if address == "" {
		server, err := url.Parse(config.Host)
		if err != nil {
			return agent.Options{}, fmt.Errorf("reading the API server's address: %w", err)
		}
		address = server.Host
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return agent.Options{}, fmt.Errorf("the API server's address needs a port: %w: give --api-address", err)
	}
	self, err := os.Executable()
	if err != nil {
		return agent.Options{}, fmt.Errorf("finding this program: %w", err)
	}
	return agent.Options{
		Name: f.name, Root: f.root, Images: f.images, ServiceHost: host, ServicePort: port, Refresh: f.refresh, Backoff: f.backoff,
		Supervisor: []string{self, "supervise"}, Client: client, Now: time.Now, Log: log,
	}, nil
}

func (f runFlags) listen(config *rest.Config) (net.Listener, error) {
	authority := config.CAData
	if f.clientCA != "" || len(authority) == 0 {
		path := f.clientCA
		if path == "" {
			path = config.CAFile
		}
		var err error
		if authority, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("reading the authority of clients: %w", err)
		}
	}
	var cert *tls.Certificate
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("reading the serving certificate: %w", err)
		}
		cert = &pair
	}
	return kubelet.Listen(agent.HostIP, f.port, authority, cert, time.Now())
}
