// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"darkshift.io/infrared/internal/devstack"
)

// nodeName is a name that resolves to loopback on any machine: the API server finds the kubelet by it.
const nodeName = "localhost"

// stack is a control plane and a real node, that all tests share.
type stack struct {
	dir    string // of this run; gone at its end
	root   string // the repository
	plane  *devstack.ControlPlane
	admin  *rest.Config
	client kubernetes.Interface
	node   *exec.Cmd
	ended  chan error // how the node ended, once
	log    *os.File   // of the node
}

// shared is set once, by TestMain.
var shared *stack

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	log.SetLogger(logr.Discard()) // else a client complains that it has none
	// Sockets lie in it, whose addresses must be short.
	dir, err := os.MkdirTemp("", "irn-")
	if err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	s := &stack{dir: dir}
	code := 1
	if err := s.up(ctx); err != nil {
		_ = fail(err)
		s.explain()
	} else {
		shared = s
		code = m.Run()
	}
	if err := s.down(); err != nil {
		return fail(err)
	}
	return code
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "the real node:", err)
	return 1
}

func (s *stack) up(ctx context.Context) error {
	var err error
	if s.root, err = devstack.RepoRoot(); err != nil {
		return err
	}
	for _, name := range []string{"realnode", "kubelet", "controlplane", "tofu", "infrared-build", "plugins/fake"} {
		if _, err := os.Stat(s.program(name)); err != nil {
			return fmt.Errorf("%w: run make test-node, which builds it", err)
		}
	}
	s.plane, err = devstack.StartControlPlane(ctx, devstack.Options{
		Dir: filepath.Join(s.dir, "plane"), Name: "management", UnsafeNoFsync: true,
		APIServerArgs: []string{"--kubelet-preferred-address-types=Hostname,InternalIP"},
	})
	if err != nil {
		return err
	}
	if s.admin, err = clientcmd.BuildConfigFromFlags("", s.plane.Kubeconfig()); err != nil {
		return err
	}
	s.admin.QPS, s.admin.Burst = -1, 0
	if s.client, err = kubernetes.NewForConfig(s.admin); err != nil {
		return err
	}
	for _, part := range []string{"namespaces.yaml", "crds", "build"} {
		if out, err := s.kubectl(ctx, "apply", "--server-side", "-f", filepath.Join(s.root, "deploy", part)); err != nil {
			return fmt.Errorf("applying deploy/%s: %w: %s", part, err, out)
		}
	}
	if out, err := s.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
		return fmt.Errorf("waiting for the CRDs: %w: %s", err, out)
	}
	if err := s.mutate(ctx); err != nil {
		return err
	}
	if err := s.writeImages(); err != nil {
		return err
	}
	return s.startNode(ctx)
}

func (s *stack) program(name string) string { return filepath.Join(s.root, ".dev", "bin", name) }

func (s *stack) nodeRoot() string { return filepath.Join(s.dir, "node") }

// mutate has the API server give each pod the machine's network, since the stack has no Services that work. Nothing else of a pod is
// changed, so what the tests see of its rights is what its maker asked for.
func (s *stack) mutate(ctx context.Context) error {
	policy, err := exec.CommandContext(ctx, s.program("realnode"), "policy", "--api-address", strings.TrimPrefix(s.plane.URL, "https://")).Output()
	if err != nil {
		return fmt.Errorf("asking for the policy: %w", err)
	}
	if out, err := s.kubectlIn(ctx, string(policy), "apply", "--server-side", "-f", "-"); err != nil {
		return fmt.Errorf("applying the policy: %w: %s", err, out)
	}
	return nil
}

// startNode returns when the node takes pods.
func (s *stack) startNode(ctx context.Context) error {
	since := time.Now().Truncate(time.Second) // the API's times are in whole seconds
	files, err := s.plane.NodeFiles(nodeName, time.Now())
	if err != nil {
		return err
	}
	port, err := devstack.FreePort()
	if err != nil {
		return err
	}
	if s.log, err = os.OpenFile(filepath.Join(s.dir, "node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	s.node = exec.Command(s.program("realnode"), "run", "--name", nodeName, "--root", s.nodeRoot(), "--images", filepath.Join(s.dir, "images.yaml"),
		"--kubeconfig", files.Kubeconfig, "--client-ca-file", files.ClientCA, "--tls-cert-file", files.Cert, "--tls-private-key-file", files.Key,
		"--port", fmt.Sprint(port))
	s.node.Stdout, s.node.Stderr = s.log, s.log
	s.node.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.node.Start(); err != nil {
		return fmt.Errorf("starting the node: %w", err)
	}
	s.ended = make(chan error, 1)
	go func(node *exec.Cmd, ended chan<- error) { ended <- node.Wait() }(s.node, s.ended)
	return s.waitReady(ctx, since)
}

// waitReady returns when the node that was started at since takes pods.
func (s *stack) waitReady(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the node is not ready after a minute"))
	defer cancel()
	go func(ended chan error) {
		select {
		case err := <-ended:
			ended <- err
			cancel()
		case <-ctx.Done():
		}
	}(s.ended)
	_, err := await(ctx, s.client.CoreV1().Nodes(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", nodeName).String()},
		func(n *corev1.Node) bool {
			for _, taint := range n.Spec.Taints {
				if taint.Effect != corev1.TaintEffectPreferNoSchedule {
					return false
				}
			}
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && !c.LastHeartbeatTime.Time.Before(since) {
					return true
				}
			}
			return false
		})
	return err
}

// endNode ends containerd and the kubelet. Pods go on.
func (s *stack) endNode(signal syscall.Signal) error {
	if s.node == nil {
		return nil
	}
	_ = s.node.Process.Signal(signal)
	err := <-s.ended
	s.ended <- err
	s.node = nil
	return err
}

// down ends everything, and says what the node left on the machine.
func (s *stack) down() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var errs []error
	if err := s.endNode(syscall.SIGTERM); err != nil {
		errs = append(errs, fmt.Errorf("the node ended with %w", err))
	}
	if s.plane != nil {
		s.plane.Stop()
	}
	if s.root != "" {
		if out, err := exec.CommandContext(ctx, s.program("realnode"), "stop", "--root", s.nodeRoot(), "--grace", "2", "--purge").CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("ending the node's pods: %w: %s", err, out))
		}
		errs = append(errs, leftovers(s.nodeRoot()))
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// explain prints the ends of the node's logs.
func (s *stack) explain() {
	for _, path := range []string{"node.log", "node/logs/containerd.log", "node/logs/kubelet.log"} {
		data, err := os.ReadFile(filepath.Join(s.dir, path))
		if err != nil {
			continue
		}
		const end = 4000
		fmt.Fprintf(os.Stderr, "--- the end of %s\n%s\n", path, data[max(0, len(data)-end):])
	}
}

// kubectl runs kubectl as the administrator and returns all that it printed.
func (s *stack) kubectl(ctx context.Context, args ...string) (string, error) {
	return s.kubectlIn(ctx, "", args...)
}

func (s *stack) kubectlIn(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.program("kubectl"), append([]string{"--kubeconfig", s.plane.Kubeconfig()}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECTL_KUBERC=false", "KUBECACHEDIR="+filepath.Join(s.dir, "kubectl"))
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
