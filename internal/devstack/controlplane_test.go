// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/devstack"
)

// binary is the control plane binary, without which nothing here means anything.
func binary(t *testing.T) string {
	t.Helper()
	path, err := devstack.Binary()
	if err != nil {
		t.Fatal(err) // says to run make stack
	}
	return path
}

func start(t *testing.T, o devstack.Options) *devstack.ControlPlane {
	t.Helper()
	o.UnsafeNoFsync = true
	cp, err := devstack.StartControlPlane(limit(t), o)
	if err != nil {
		t.Fatalf("StartControlPlane: %v", err)
	}
	t.Cleanup(cp.Stop)
	return cp
}

// limit is for what takes seconds on an idle machine and a minute on a busy one.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func kubectl(t *testing.T, cp *devstack.ControlPlane, args ...string) string {
	t.Helper()
	out, err := cp.Kubectl(limit(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {n: {type: integer}}}}}}
`

// One control plane for everything that a running one must do, because
// starting one costs seconds.
func TestControlPlane(t *testing.T) {
	dir := t.TempDir()
	audit := filepath.Join(dir, "audit.log")
	cp := start(t, devstack.Options{Dir: filepath.Join(dir, "true"), AuditLog: audit})

	t.Run("Version", func(t *testing.T) {
		versions, err := devstack.BinaryVersions(binary(t))
		if err != nil {
			t.Fatal(err)
		}
		out := kubectl(t, cp, "version")
		if want := "Server Version: " + versions.Kubernetes; !strings.Contains(out, want) {
			t.Errorf("kubectl version printed\n%s\nwant %q in it", out, want)
		}
	})
	t.Run("ReadyMeansUsable", func(t *testing.T) {
		kubectl(t, cp, "get", "serviceaccount", "default", "--namespace=default")
	})
	t.Run("CustomKind", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "crd.yaml")
		if err := os.WriteFile(file, []byte(crd), 0o600); err != nil {
			t.Fatal(err)
		}
		kubectl(t, cp, "apply", "--server-side", "--filename="+file)
		if err := cp.WaitCRDs(limit(t)); err != nil {
			t.Fatalf("WaitCRDs: %v", err)
		}
		kubectl(t, cp, "get", "things")
	})
	t.Run("ServiceAccount", func(t *testing.T) { testServiceAccount(t, cp) })
	t.Run("AuditLog", func(t *testing.T) {
		data, err := os.ReadFile(audit)
		if err != nil || !strings.Contains(string(data), `"username":"infrared-dev-admin"`) {
			t.Errorf("the audit log doesn't say what the administrator did (%v)", err)
		}
		if strings.Contains(string(data), "requestObject") {
			t.Error("the audit log holds the contents of requests, secrets among them")
		}
	})
	t.Run("KillAndRestart", func(t *testing.T) {
		kubectl(t, cp, "create", "namespace", "kept")
		for _, component := range []string{devstack.APIServer, devstack.Etcd} {
			cp.Kill(component)
			if _, ended := cp.Process(component).Exited(); !ended {
				t.Fatalf("%s runs after Kill", component)
			}
			if err := cp.Start(limit(t)); err != nil {
				t.Fatalf("Start after Kill(%s): %v", component, err)
			}
		}
		kubectl(t, cp, "get", "namespace", "kept")
	})
	t.Run("ClaimedOnce", func(t *testing.T) {
		_, err := devstack.Prepare(devstack.Options{Dir: cp.Dir()})
		if err == nil || !strings.Contains(err.Error(), "already runs from") {
			t.Errorf("a second control plane in the same folder: %v", err)
		}
	})
	t.Run("StopLeavesNothing", func(t *testing.T) {
		cp.Stop()
		for _, component := range cp.Components() {
			if _, ended := cp.Process(component).Exited(); !ended {
				t.Errorf("%s runs after Stop", component)
			}
		}
	})
}

// What is handed out to register a cluster works by itself, wherever it lies.
func testServiceAccount(t *testing.T, cp *devstack.ControlPlane) {
	data, err := cp.ServiceAccountKubeconfig(limit(t), "kube-system", "infrared", "cluster-admin")
	if err != nil {
		t.Fatalf("ServiceAccountKubeconfig: %v", err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out := kubectl(t, cp, "--kubeconfig="+file, "auth", "whoami", "--output=jsonpath={.status.userInfo.username}")
	if want := "system:serviceaccount:kube-system:infrared"; out != want {
		t.Errorf("it belongs to %q, want %q", out, want)
	}
	if out := kubectl(t, cp, "--kubeconfig="+file, "auth", "can-i", "*", "*"); out != "yes" {
		t.Errorf("may it do everything: %s", out)
	}
	// A role of nothing stays a role of nothing.
	data, err = cp.ServiceAccountKubeconfig(limit(t), "some-new-namespace", "nobody", "")
	if err != nil {
		t.Fatalf("ServiceAccountKubeconfig without a role: %v", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = cp.Kubectl(limit(t), "--kubeconfig="+file, "auth", "can-i", "list", "secrets")
	if err == nil || !strings.HasSuffix(strings.TrimSpace(out), "no") {
		t.Errorf("may an account without a role list secrets: %q", out)
	}
}

// Whatever stops a control plane from starting is named, with its log.
func TestDeadComponentIsNamed(t *testing.T) {
	_, err := devstack.StartControlPlane(limit(t), devstack.Options{
		Dir: t.TempDir(), Name: "edge", Components: []string{devstack.APIServer}, APIServerArgs: []string{"--no-such-flag"},
	})
	if err == nil {
		t.Fatal("the API server took a flag that doesn't exist")
	}
	pattern := `^control plane "edge": kube-apiserver ended with exit code 1: .*unknown flag: --no-such-flag.* \(log: /.*/logs/kube-apiserver.log\)$`
	if !regexp.MustCompile(pattern).MatchString(err.Error()) {
		t.Errorf("got  %v\nwant %s", err, pattern)
	}
}

// Four programs share one file, whose packages register flags when they are
// loaded; none may get another's.
func TestComponentsKeepTheirFlags(t *testing.T) {
	flags := func(component string) []string {
		out, err := exec.Command(binary(t), component, "--help").CombinedOutput()
		if err != nil {
			t.Fatalf("%s --help: %v", component, err)
		}
		found := regexp.MustCompile(`(?m)^ +(?:-\w, )?(--?[a-z][a-z0-9-]*)`).FindAllStringSubmatch(string(out), -1)
		var names []string
		for _, m := range found {
			names = append(names, "-"+strings.TrimLeft(m[1], "-"))
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	tests := map[string]struct {
		reason   string
		has, not []string
	}{
		devstack.APIServer:         {"It has the storage.", []string{"-etcd-servers", "-feature-gates", "-v"}, []string{"-controllers", "-leader-elect", "-data-dir"}},
		devstack.ControllerManager: {"It has the controllers.", []string{"-controllers", "-feature-gates", "-v"}, []string{"-etcd-servers", "-data-dir"}},
		devstack.Scheduler:         {"It has neither.", []string{"-leader-elect", "-feature-gates", "-v"}, []string{"-etcd-servers", "-controllers", "-data-dir"}},
	}
	for component, tc := range tests {
		t.Run(component, func(t *testing.T) {
			names := flags(component)
			for _, f := range tc.has {
				if !slices.Contains(names, f) {
					t.Errorf("%s\n%s has no flag %s", tc.reason, component, f)
				}
			}
			for _, f := range tc.not {
				if slices.Contains(names, f) {
					t.Errorf("%s\n%s has the flag %s of another", tc.reason, component, f)
				}
			}
		})
	}
	t.Run(devstack.Etcd, func(t *testing.T) {
		want := []string{"-auto-compaction-retention", "-data-dir", "-log-level", "-socket", "-unsafe-no-fsync"}
		if diff := cmp.Diff(want, flags(devstack.Etcd)); diff != "" {
			t.Errorf("etcd has exactly its own few flags (-want +got):\n%s", diff)
		}
	})
}

func TestNoSuchComponent(t *testing.T) {
	out, err := exec.Command(binary(t), "kube-proxy").CombinedOutput()
	want := "controlplane: no component \"kube-proxy\"; usage: controlplane etcd | kube-apiserver | kube-controller-manager | kube-scheduler | kubectl\n"
	if err == nil || string(out) != want {
		t.Errorf("got %q (%v), want %q", out, err, want)
	}
}
