// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// stack is the control plane that all tests share, and the node most of them use.
type stack struct {
	dir    string // of this run; gone at its end
	repo   string
	binary string // the node
	admin  *rest.Config
	client kubernetes.Interface
	node   *node
}

// shared is set once, by TestMain.
var shared *stack

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == programArg {
		os.Exit(program(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "node-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// A user without rights runs a node below it.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	s := &stack{dir: dir}
	defer s.down()
	if err := s.up(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "the test environment:", err)
		return 1
	}
	shared = s
	return m.Run()
}

// up builds the node, starts the control plane, and a node on it.
func (s *stack) up(ctx context.Context) error {
	var err error
	if s.repo, err = filepath.Abs("../../.."); err != nil {
		return err
	}
	s.binary = filepath.Join(s.dir, "node")
	build := exec.CommandContext(ctx, "go", append(append([]string{"build"}, buildFlags...), "-o", s.binary, "..")...)
	build.Env = append(os.Environ(), buildEnv...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the node: %w\n%s", err, out)
	}
	if err := s.ir(ctx, "up", "--operator=false", "--node=none"); err != nil {
		return err
	}
	if s.admin, err = clientcmd.BuildConfigFromFlags("", filepath.Join(s.data(), "kubeconfig")); err != nil {
		return err
	}
	s.admin.QPS, s.admin.Burst = -1, 0
	if s.client, err = kubernetes.NewForConfig(s.admin); err != nil {
		return err
	}
	if s.node, err = s.newNode(filepath.Join(s.dir, "node-a"), "node-a", 0); err != nil {
		return err
	}
	if err := s.node.start(); err != nil {
		return err
	}
	return s.node.waitReady(ctx)
}

func (s *stack) data() string { return filepath.Join(s.dir, "stack") }

// ir runs a command of `ir dev` on the tests' own folder.
func (s *stack) ir(ctx context.Context, args ...string) error {
	ir := filepath.Join(s.repo, ".dev", "bin", "ir")
	if _, err := os.Stat(ir); err != nil {
		return fmt.Errorf("%w: run make stack", err)
	}
	cmd := exec.CommandContext(ctx, ir, append([]string{"dev", "--data", s.data()}, args...)...)
	cmd.Dir = s.repo
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ir dev %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// down ends everything, whatever the tests left.
func (s *stack) down() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if s.node != nil {
		errs = append(errs, s.node.stop(ctx))
	}
	errs = append(errs, s.ir(ctx, "down"))
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "taking the test environment down:", err)
	}
}

// kubectl runs kubectl as the administrator and returns what it printed.
func (s *stack) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.repo, ".dev", "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(s.data(), "kubeconfig"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// copyFile makes a program that everybody may run.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(out, in)
	return err
}
