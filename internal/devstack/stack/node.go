// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
)

// Kinds of node that can run the pods of the management control plane.
const (
	NodeProcess = "process" // pods are processes of this machine, without root
	NodeReal    = "real"    // a kubelet with a container engine, as root
	NodeNone    = "none"    // pods stay Pending
)

const (
	nodeName = "node" // of the component

	// podGrace is how long pods may take to end with the stack. The control plane
	// is still there, so that an apply can write down how far it came.
	podGrace = 15 * time.Second
	// orphanGrace is the same for pods that have lost their control plane already.
	orphanGrace = 5 * time.Second
)

// nodeProgram is the program of a kind of node, below the programs' folder. Each
// is called the same way: run and stop, with the flags that are given below.
func nodeProgram(kind string) string {
	return map[string]string{NodeProcess: "node", NodeReal: "realnode"}[kind]
}

// nodeObject is the name of a kind's Node. The API server finds a kubelet by its
// name, which must be one that every machine knows.
func nodeObject(kind string) string {
	return map[string]string{NodeProcess: "local", NodeReal: "localhost"}[kind]
}

// checkNode refuses a kind of node that can't be had.
func (s *Stack) checkNode(kind string) error {
	switch kind {
	case "", NodeNone, NodeProcess:
		return nil
	case NodeReal:
		return s.checkReal()
	}
	return fmt.Errorf("there is no node of kind %q: choose of %s, %s, %s", kind, NodeProcess, NodeReal, NodeNone)
}

func nodeService() service {
	return service{
		name:    nodeName,
		stage:   onceUp,
		makes:   "make stack",
		wanted:  func(w Wanted) bool { return nodeProgram(w.Node) != "" },
		program: func(s *Stack, w Wanted) string { return s.program(nodeProgram(w.Node)) },
		prepare: prepareNode,
		revive:  true, // its pods run on, and it takes them over
		ended: func(ctx context.Context, s *Stack, _ Wanted) error {
			return s.endPods(ctx, podGrace, false)
		},
	}
}

// nodeRoot is the folder that keeps the pods of a kind of node.
func (s *Stack) nodeRoot(kind string) string {
	return filepath.Join(s.clusterDir(Management), nodeProgram(kind))
}

// prepareNode writes what the node reads: certificates and the table of images.
func prepareNode(ctx context.Context, s *Stack, cp *devstack.ControlPlane, w Wanted) (launch, error) {
	now := time.Now()
	name := nodeObject(w.Node)
	files, err := cp.NodeFiles(name, now)
	if err != nil {
		return launch{}, err
	}
	table, err := s.images(w.Node)
	if err != nil {
		return launch{}, err
	}
	if err := s.tellPods(ctx, cp, w.Node); err != nil {
		return launch{}, err
	}
	images := s.nodeRoot(w.Node) + "-images.yaml"
	if err := folder.WriteFile(images, table); err != nil {
		return launch{}, err
	}
	port, err := devstack.FreePort()
	if err != nil {
		return launch{}, err
	}
	return launch{
		address: fmt.Sprintf("https://127.0.0.1:%d", port),
		// Its pods inherit its environment, and must not be taken for parts of the stack
		// that can be ended when the supervisor is gone.
		env: []string{ownerEnv + "="},
		args: []string{
			"run", "--name", name, "--root", s.nodeRoot(w.Node), "--images", images, "--kubeconfig", files.Kubeconfig,
			"--client-ca-file", files.ClientCA, "--tls-cert-file", files.Cert, "--tls-private-key-file", files.Key,
			"--port", strconv.Itoa(port),
		},
		ready: func(ctx context.Context) error { return cp.NodeReady(ctx, name, now) },
	}, nil
}

// endPods ends the pods that nodes left, and removes what is kept of them when
// purge asks for it. No node may run. Without a purge the next node tells the
// API server how they ended.
func (s *Stack) endPods(ctx context.Context, grace time.Duration, purge bool) error {
	return errors.Join(s.endPodsOf(ctx, NodeProcess, grace, purge), s.endPodsOf(ctx, NodeReal, grace, purge))
}

func (s *Stack) endPodsOf(ctx context.Context, kind string, grace time.Duration, purge bool) error {
	root := s.nodeRoot(kind)
	if left, err := os.ReadDir(filepath.Join(root, "pods")); err != nil || len(left) == 0 {
		return nil // no such node was ever here, or it has nothing left
	}
	program := s.program(nodeProgram(kind))
	if fileIdentity(program) == "" {
		return fmt.Errorf("pods of the node may still run, and %s, which ends them, is missing: run make %s", shorten(program), nodeMake(kind))
	}
	args := []string{"stop", "--root", root, "--grace", strconv.Itoa(int(grace.Seconds()))}
	if purge {
		args = append(args, "--purge")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*grace+10*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ending the node's pods: %w: %s", err, lastLine(out))
	}
	return nil
}

// nodeMake is the target of make that compiles a kind of node.
func nodeMake(kind string) string {
	return map[string]string{NodeProcess: "stack", NodeReal: "realnode"}[kind]
}

func lastLine(out []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(out)), "\n")
	return cut(lines[len(lines)-1])
}
