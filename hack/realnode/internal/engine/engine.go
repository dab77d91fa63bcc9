// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package engine runs a real Kubernetes node on this machine: Debian's containerd and runc, and the kubelet of hack/kubelet, with
// folders, sockets and control groups of their own, so that it touches no other engine and can be taken down without a trace.
//
// containerd and the kubelet die with the process that runs them. Containers don't: each has a shim, which a later Run finds
// again. What ends them is Stop. Below Root are:
//
//	containerd/   configuration, images, snapshots and the socket
//	kubelet/      configuration, certificates, volumes of the pods
//	pods/         logs of the containers
//	logs/         logs of containerd and of the kubelet
//	images/       which images are imported
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

const (
	// maxRoot is how long the folder's path may be: a unix socket's address has 107 bytes, of which the kubelet uses 40 of its own.
	maxRoot = 66
	// grace is how long containerd and the kubelet may take to end.
	grace = 10 * time.Second
)

// Options is what a node is made of. All fields but Cert and Key must be set.
type Options struct {
	// Name of the node. The API server must find the kubelet under it, so on a machine without a name service it is localhost.
	Name string
	// Root is the folder that keeps everything.
	Root string
	// Images is the table of images.
	Images string
	// Kubeconfig is that of user system:node:<name> in group system:nodes.
	Kubeconfig string
	// Kubelet is its binary.
	Kubelet string
	// Self is the program whose first argument "pause" makes it wait for ever: it holds a pod's namespaces.
	Self string
	// ClientCA is the authority of those who may ask the kubelet for logs.
	ClientCA string
	// Cert and Key are the kubelet's serving pair; empty: one that it signs itself.
	Cert, Key string
	// Port of the kubelet, on 127.0.0.1.
	Port int
	// Out gets a line for each image that was imported.
	Out io.Writer
}

// node is a node that runs.
type node struct {
	Options
	launcher *proc.Launcher
	imported map[string]string // image -> fingerprint of what it was made of
}

// Run runs a node until ctx ends, and returns when containerd and the kubelet have. Pods go on.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	for _, dir := range []string{"", "containerd", "containerd/cni", "containerd/registries/_default", "kubelet", "kubelet/pki", "pods", "logs", "images"} {
		if err := folder.Make(filepath.Join(o.Root, dir)); err != nil {
			return err
		}
	}
	lock, err := claim(o.Root)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := makeCgroups(Cgroup(o.Root)); err != nil {
		return err
	}
	// Groups that hold pods can't be removed, and stay for the next Run, or for Stop.
	defer func() { _ = removeCgroups(Cgroup(o.Root)) }()
	n := &node{Options: o, launcher: proc.NewLauncher(), imported: map[string]string{}}
	defer n.launcher.Close()
	return n.run(ctx)
}

func (o Options) check() error {
	if len(o.Root) > maxRoot || !filepath.IsAbs(o.Root) {
		return fmt.Errorf("the folder %s can't keep the node: sockets need an absolute path of at most %d bytes", o.Root, maxRoot)
	}
	if strings.ContainsAny(o.Root, "\"\\\n") {
		return fmt.Errorf("the folder %q can't keep the node: its name has characters that configuration files don't take", o.Root)
	}
	return Prerequisites()
}

func (n *node) run(ctx context.Context) error {
	if err := n.writeConfigs(); err != nil {
		return err
	}
	containerd, err := n.start("containerd", "containerd", "--config", n.path("containerd/config.toml"))
	if err != nil {
		return err
	}
	defer containerd.Stop(grace)
	if err := n.waitForEngine(ctx, containerd); err != nil {
		return err
	}
	if err := n.importAll(ctx); err != nil {
		return err
	}
	kubelet, err := n.start("kubelet", n.Kubelet, n.kubeletArgs()...)
	if err != nil {
		return err
	}
	defer kubelet.Stop(grace)
	return n.watch(ctx, containerd, kubelet)
}

func (n *node) start(name, program string, args ...string) (*proc.Process, error) {
	return n.launcher.Start(proc.Spec{Name: name, Path: program, Args: args, Log: n.path("logs/" + name + ".log")})
}

func (n *node) path(below string) string { return filepath.Join(n.Root, below) }

// watch returns when a process ended or ctx did, and imports images whose files changed until then.
func (n *node) watch(ctx context.Context, containerd, kubelet *proc.Process) error {
	const look = 2 * time.Second
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-containerd.Done():
			return errors.New(containerd.Death())
		case <-kubelet.Done():
			return errors.New(kubelet.Death())
		case <-ticker.C:
			// A program may be half written just now: the next look gets it.
			if err := n.importAll(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(n.Out, err)
			}
		}
	}
}

// waitForEngine returns when containerd answers, images included.
func (n *node) waitForEngine(ctx context.Context, containerd *proc.Process) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, err := n.ctr(ctx, nil, "images", "list", "-q")
		if err == nil {
			return nil
		}
		select {
		case <-containerd.Done():
			return errors.New(containerd.Death())
		case <-ctx.Done():
			return fmt.Errorf("containerd does not answer: %w", err)
		case <-ticker.C:
		}
	}
}
