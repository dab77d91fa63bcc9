// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/sanity"
)

// binary is where the plugin's program is, and its SHA-256.
var binary, sum string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "infrared-incluster-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = compile(filepath.Join(dir, "incluster"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compiling the plugin:", err)
		return 1
	}
	return m.Run()
}

// compile builds the plugin as it is shipped.
func compile(path string) error {
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-buildvcs=false", "-o", path, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(data)
	binary, sum = path, hex.EncodeToString(hash[:])
	return nil
}

// start starts the plugin as the host does, and ends it with the test.
func start(t *testing.T) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Dial(t.Context(), plugin.Launch{Path: binary, SHA256: sum})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := p.Stop(ctx); err != nil {
			t.Errorf("stopping the plugin: %v", err)
		}
	})
	return p
}

// requestBy is a request with a kubeconfig's way in, on this machine.
func requestBy(t *testing.T, text []byte) provider.ConnectRequest {
	t.Helper()
	config, err := kubeconfig.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := connect.EndpointOf(*config)
	return provider.ConnectRequest{
		Cluster:  provider.Cluster{Name: "edge", Incarnation: "0b8f6c3e-9f6e-4c55-a7a8-0a4f1f6a4a11"},
		Endpoint: &endpoint, PrivateAddresses: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
}

func TestDescribe(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), binary, "describe").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got provider.Description
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := provider.Description{Facts: provider.Facts{Name: "incluster", Version: "v0.1.0"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("describe (-want +got):\n%s", diff)
	}
}

// world is a real API server with two nodes, and two kubeconfigs for it.
type world struct {
	cp           *devstack.ControlPlane
	wide, narrow []byte
	uid, version string
}

func newWorld(ctx context.Context, t *testing.T) world {
	t.Helper()
	cp, err := devstack.StartControlPlane(ctx, devstack.Options{
		Dir: t.TempDir(), Name: "edge", UnsafeNoFsync: true, Components: []string{devstack.APIServer},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cp.Stop)
	addNodes(ctx, t, cp)
	w := world{cp: cp, version: versionOf(ctx, t, cp)}
	if w.wide, err = cp.ServiceAccountKubeconfig(ctx, "default", "wide", "cluster-admin"); err != nil {
		t.Fatal(err)
	}
	if w.narrow, err = cp.ServiceAccountKubeconfig(ctx, "default", "narrow", ""); err != nil {
		t.Fatal(err)
	}
	if w.uid, err = cp.Kubectl(ctx, "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}"); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestConnect is the plugin as a process, and a real API server.
func TestConnect(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	w, p := newWorld(ctx, t), start(t).Provider()

	req := requestBy(t, w.wide)
	got, err := p.Connect(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	want := provider.Connection{
		Endpoint: *req.Endpoint, Version: w.version, Region: "us-ord", Nodes: &provider.Nodes{Ready: 1, Total: 2},
		Identity: provider.ClusterIdentity{KubeSystemUID: w.uid},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an account that may read all (-want +got):\n%s", diff)
	}

	req = requestBy(t, w.narrow)
	if got, err = p.Connect(ctx, req); err != nil {
		t.Fatal(err)
	}
	var notLooked []string
	for _, part := range got.NotLooked {
		notLooked = append(notLooked, part.What)
	}
	if diff := cmp.Diff([]string{"nodes", "the namespace kube-system"}, notLooked); diff != "" || got.Version != w.version || got.Nodes != nil {
		t.Errorf("an account that may read next to nothing gave %+v (-want +got of what was not looked at):\n%s", got, diff)
	}

	req.Endpoint.Token = provider.NewSecret("S3CR3T")
	if _, err = p.Connect(ctx, req); !errors.Is(err, provider.Unauthenticated) || strings.Contains(err.Error(), "S3CR3T") {
		t.Errorf("a token that is none gave %v, want Unauthenticated", err)
	}
	w.cp.Stop()
	if _, err = p.Connect(ctx, requestBy(t, w.wide)); !errors.Is(err, provider.Unavailable) {
		t.Errorf("a cluster that is down gave %v, want Unavailable", err)
	}
}

func versionOf(ctx context.Context, t *testing.T, cp *devstack.ControlPlane) string {
	t.Helper()
	out, err := cp.Kubectl(ctx, "get", "--raw", "/version")
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.GitVersion
}

// addNodes adds a node that is ready and cordoned, and one that is not ready.
func addNodes(ctx context.Context, t *testing.T, cp *devstack.ControlPlane) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nodes.yaml")
	const nodes = `{apiVersion: v1, kind: Node, metadata: {name: a, labels: {topology.kubernetes.io/region: us-ord}}, spec: {unschedulable: true}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}}
`
	if err := os.WriteFile(file, []byte(nodes), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{"create", "-f", file}}
	for name, ready := range map[string]string{"a": "True", "b": "False"} {
		commands = append(commands, []string{"patch", "node", name, "--subresource=status", "--type=merge", "-p",
			`{"status":{"conditions":[{"type":"Ready","status":"` + ready + `","reason":"Test","message":"by the test"}]}}`})
	}
	for _, args := range commands {
		if out, err := cp.Kubectl(ctx, args...); err != nil {
			t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// TestOtherVerbs is that a verb which is not there says so, in words, and is never taken for an answer.
func TestOtherVerbs(t *testing.T) {
	p := start(t).Provider()
	_, build := p.Build(t.Context(), provider.BuildRequest{Action: provider.ActionPlan}, quiet{})
	_, snapshot := p.Snapshot(t.Context(), provider.SnapshotRequest{})
	_, confirm := p.Confirm(t.Context(), provider.ConfirmRequest{})
	_, sweep := p.Sweep(t.Context(), provider.SweepRequest{})
	for verb, err := range map[string]error{"Build": build, "Snapshot": snapshot, "Confirm": confirm, "Sweep": sweep} {
		if !errors.Is(err, provider.Unsupported) || !strings.Contains(err.Error(), "it only registers clusters") {
			t.Errorf("%s gave %v, want Unsupported in words", verb, err)
		}
	}
	if _, ok := p.(provider.Accounts); ok {
		t.Error("it has accounts, which it did not declare")
	}
}

type quiet struct{}

func (quiet) Report(provider.Event) {}

// TestContract is what of the contract is about Connect, against a stand-in for a cluster that can be put into trouble.
func TestContract(t *testing.T) {
	sanity.Test(t, sanity.Config{
		Binary: binary, Soon: 5 * time.Second,
		World: func(context.Context) (*sanity.World, error) {
			s, err := testcluster.New(testcluster.Options{})
			if err != nil {
				return nil, err
			}
			req := requestBy(t, s.Kubeconfig(testcluster.KubeconfigOptions{}))
			trouble := func(set func(*testcluster.Behaviour)) func(context.Context) (func(), error) {
				return func(context.Context) (func(), error) {
					before := s.Behaviour()
					s.Change(set)
					return func() { s.Change(func(b *testcluster.Behaviour) { *b = before }) }, nil
				}
			}
			return &sanity.World{
				Cluster: req.Cluster, Connect: &req,
				Hooks: sanity.Hooks{
					Trouble: map[sanity.Trouble]func(context.Context) (func(), error){
						sanity.ClusterDown: trouble(func(b *testcluster.Behaviour) { b.Cut = true }),
						sanity.Silent:      trouble(func(b *testcluster.Behaviour) { b.Hang = true }),
					},
					Close: s.Close,
				},
			}, nil
		},
	})
}
