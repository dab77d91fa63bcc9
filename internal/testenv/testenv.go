// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv gives a test package a management cluster: a real API server with our kinds, policies and rights in it, the
// operator's own credential, and the operator itself in the test's process or as a program of its own.
//
//	var env *testenv.Env
//
//	func TestMain(m *testing.M) { os.Exit(testenv.Main(m, &env)) }
package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/devstack"
)

// Patience is how long a test waits for a state that a person would expect within seconds, on a machine that is busy.
const Patience = time.Minute

// Env is a management cluster.
type Env struct {
	// ControlPlane is its API server, controller manager and etcd.
	ControlPlane *devstack.ControlPlane
	// Admin may do everything; Operator is the user infrared-operator, with the rights of deploy/rbac.
	Admin, Operator *rest.Config
	// OperatorKubeconfig is the path of a file with Operator's credential, for a process of its own.
	OperatorKubeconfig string
	// Client is Admin's.
	Client client.Client
	// Root is the repository.
	Root string

	auditLog string
}

// Main runs a package's tests with an Env in *env, and returns the exit code.
func Main(m *testing.M, env **Env) int {
	Quiet()
	dir, err := os.MkdirTemp("", "infrared-test-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	e, err := Start(ctx, dir)
	if err != nil {
		return fail(err)
	}
	defer e.ControlPlane.Stop()
	*env = e
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "the test environment:", err)
	return 1
}

// New brings a management cluster up for one test, or one benchmark, and takes it down at its end.
func New(t testing.TB) *Env {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	e, err := Start(ctx, t.TempDir())
	if err != nil {
		t.Fatalf("the test environment: %v", err)
	}
	t.Cleanup(e.ControlPlane.Stop)
	return e
}

// Start brings a management cluster up in dir, which should be empty. more are further components, such as devstack.Scheduler.
func Start(ctx context.Context, dir string, more ...string) (*Env, error) {
	root, err := devstack.RepoRoot()
	if err != nil {
		return nil, err
	}
	audit := filepath.Join(dir, "audit.log")
	cp, err := devstack.StartControlPlane(ctx, devstack.Options{
		Dir: dir, Name: "management", UnsafeNoFsync: true, AuditLog: audit,
		Components: append([]string{devstack.ControllerManager}, more...),
	})
	if err != nil {
		return nil, err
	}
	e := &Env{ControlPlane: cp, Root: root, auditLog: audit}
	if err := e.install(ctx); err != nil {
		cp.Stop()
		return nil, err
	}
	return e, nil
}

func (e *Env) install(ctx context.Context) error {
	var err error
	if e.Admin, err = clientcmd.BuildConfigFromFlags("", e.ControlPlane.Kubeconfig()); err != nil {
		return err
	}
	e.Admin.QPS, e.Admin.Burst = -1, 0
	scheme, err := operator.Scheme()
	if err != nil {
		return err
	}
	if e.Client, err = client.New(e.Admin, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, part := range []string{"namespaces.yaml", "crds", "rbac", "admission"} {
		if out, err := e.Kubectl(ctx, "apply", "--server-side", "-f", filepath.Join(e.Root, "deploy", part)); err != nil {
			return fmt.Errorf("applying deploy/%s: %w: %s", part, err, out)
		}
	}
	if out, err := e.Kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
		return fmt.Errorf("waiting for the CRDs: %w: %s", err, out)
	}
	if err := e.credential(ctx); err != nil {
		return err
	}
	return e.waitForPolicies(ctx)
}

// credential gets a token for the operator.
func (e *Env) credential(ctx context.Context) error {
	token, err := e.Kubectl(ctx, "-n", "infrared", "create", "token", "infrared-operator", "--duration=24h")
	if err != nil {
		return fmt.Errorf("asking for the operator's token: %w: %s", err, token)
	}
	e.Operator = rest.AnonymousClientConfig(e.Admin)
	e.Operator.BearerToken = strings.TrimSpace(token)
	e.OperatorKubeconfig = filepath.Join(e.ControlPlane.Dir(), "operator.kubeconfig")
	return e.WriteKubeconfig(e.OperatorKubeconfig, e.Admin.Host, e.Admin.CAData)
}

// waitForPolicies waits until the API server follows the admission policies, which it reads with a delay.
func (e *Env) waitForPolicies(ctx context.Context) error {
	const forged = `{"apiVersion":"infrared.darkshift.io/v1alpha1","kind":"Cluster","metadata":{"name":"probe"},"spec":{"type":"management"}}`
	return Poll(ctx, func() error {
		out, err := e.KubectlIn(ctx, forged, "create", "--dry-run=server", "-f", "-")
		if err == nil {
			return errors.New("the policy on writing Clusters is not in force yet")
		}
		if !strings.Contains(out, "infrared-cluster-write") {
			return errors.New(out)
		}
		return nil
	})
}

// Kubectl runs kubectl as the administrator and returns what it printed.
func (e *Env) Kubectl(ctx context.Context, args ...string) (string, error) {
	return e.KubectlIn(ctx, "", args...)
}

// KubectlIn is Kubectl with a standard input.
func (e *Env) KubectlIn(ctx context.Context, stdin string, args ...string) (string, error) {
	binary, err := devstack.Binary()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, binary, append([]string{"kubectl"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+e.ControlPlane.Kubeconfig())
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}
