// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/proc"
	"darkshift.io/infrared/internal/devstack/stack"
)

const superviseEnv = "STACK_TEST_SUPERVISE"

// TestMain also plays the two programs that a stack starts: the supervisor,
// and, under its name, the operator.
func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "infrared-operator":
		os.Exit(playOperator(os.Args[1:]))
	case os.Getenv(superviseEnv) != "":
		os.Exit(playSupervisor())
	}
	os.Exit(m.Run())
}

func playSupervisor() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := stack.Open("")
	if err == nil {
		s.Binary, err = devstack.Binary()
	}
	if err == nil {
		err = s.Supervise(ctx, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

// playOperator serves what the stack waits for, and nothing else.
func playOperator(args []string) int {
	for _, arg := range args {
		if address, ok := strings.CutPrefix(arg, "--health-probe-bind-address="); ok {
			err := http.ListenAndServe(address, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			fmt.Fprintln(os.Stderr, "Error:", err)
		}
	}
	return 1
}

const manifest = `apiVersion: v1
kind: Namespace
metadata: {name: infrared}
`

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// A policy is touched twice: the controller manager writes its status after us.
const policy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: things.example.com}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}
  validations:
  - {expression: "object.metadata.name != 'no'"}
`

// bench is a stack in a made-up repository of its own.
type bench struct {
	*stack.Stack
	t    *testing.T
	repo string
	pods []string // UIDs of those that were started
}

// providersCRD has the names of the real one, which a test of the stack needs no more of.
const providersCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: providers.infrared.darkshift.io}
spec:
  group: infrared.darkshift.io
  scope: Cluster
  names: {plural: providers, singular: provider, kind: Provider}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func newBench(t *testing.T) *bench {
	t.Helper()
	binary, err := devstack.Binary()
	if err != nil {
		t.Fatal(err) // says to run make stack
	}
	repo := t.TempDir()
	put(t, filepath.Join(repo, "go.mod"), "module darkshift.io/infrared\n")
	put(t, filepath.Join(repo, "deploy", "namespaces.yaml"), manifest)
	put(t, filepath.Join(repo, "deploy", "crds", "things.yaml"), crd)
	put(t, filepath.Join(repo, "deploy", "admission", "things.yaml"), policy)
	t.Setenv(devstack.BinaryEnv, binary)
	t.Setenv(stack.DataEnv, "")
	t.Setenv(superviseEnv, "1")
	t.Chdir(repo)
	s, err := stack.Open("")
	if err != nil {
		t.Fatal(err)
	}
	s.Supervisor = []string{os.Args[0]}
	b := &bench{Stack: s, t: t, repo: repo}
	t.Cleanup(func() {
		if err := b.Down(context.Background(), true, os.Stderr); err != nil {
			t.Errorf("Down at the end: %v", err)
		}
	})
	return b
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// buildOperator puts the test's own program in the operator's place.
func (b *bench) buildOperator() {
	b.t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.Data, "bin", "infrared-operator")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", data, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) up(clusters ...string) (string, error) {
	b.t.Helper()
	return b.upWith(stack.UpOptions{Clusters: clusters})
}

func (b *bench) upWith(o stack.UpOptions) (string, error) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 4*time.Minute)
	defer cancel()
	var out bytes.Buffer
	o.Operator, o.Out = true, &out
	err := b.Up(ctx, o)
	return out.String(), err
}

func (b *bench) mustUp(clusters ...string) string {
	b.t.Helper()
	out, err := b.up(clusters...)
	if err != nil {
		b.t.Fatalf("Up: %v\n%s", err, out)
	}
	return out
}

func (b *bench) mustDown(purge bool) string {
	b.t.Helper()
	var out bytes.Buffer
	if err := b.Down(b.t.Context(), purge, &out); err != nil {
		b.t.Fatalf("Down: %v", err)
	}
	return out.String()
}

func (b *bench) status() stack.State {
	b.t.Helper()
	st, err := b.Status()
	if err != nil {
		b.t.Fatalf("Status: %v", err)
	}
	return st
}

func (b *bench) row(cluster, name string) stack.Component {
	b.t.Helper()
	st := b.status()
	for _, c := range st.Components {
		if c.Cluster == cluster && c.Name == name {
			return c
		}
	}
	b.t.Fatalf("no row for %s/%s in %v", cluster, name, st.Components)
	return stack.Component{}
}

func (b *bench) kubectl(cluster string, args ...string) string {
	b.t.Helper()
	kubeconfig := filepath.Join(b.Data, cluster+".kubeconfig")
	if cluster == stack.Management {
		kubeconfig = filepath.Join(b.Data, "kubeconfig")
	}
	cmd := exec.CommandContext(b.t.Context(), os.Getenv(devstack.BinaryEnv), append([]string{"kubectl", "--kubeconfig=" + kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(b.Data, "kubectl-cache"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("kubectl on %s %v: %v\n%s", cluster, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// running lists the processes of the stack, whoever remembers them.
func (b *bench) running() []proc.Found {
	b.t.Helper()
	found, err := proc.FindByEnv("INFRARED_DEV_OWNER", b.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("still not so after a minute: %s", what)
		}
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("killing %d: %v", pid, err)
	}
}
