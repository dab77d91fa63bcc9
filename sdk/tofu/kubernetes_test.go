// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/sdk/provider"
)

// cluster is a real API server in which OpenTofu keeps its state.
type cluster struct {
	t  *testing.T
	cp *devstack.ControlPlane
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cp, err := devstack.StartControlPlane(ctx, devstack.Options{Dir: t.TempDir(), Name: "management", UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cp.Stop)
	c := &cluster{t: t, cp: cp}
	c.kubectl("create", "namespace", "infrared")
	c.kubectl("-n", "infrared", "create", "serviceaccount", "tofu")
	c.kubectl("-n", "infrared", "create", "role", "tofu", "--verb=*", "--resource=secrets,leases.coordination.k8s.io")
	c.kubectl("-n", "infrared", "create", "rolebinding", "tofu", "--role=tofu", "--serviceaccount=infrared:tofu")
	return c
}

func (c *cluster) try(args ...string) (string, error) {
	binary, err := devstack.Binary()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(binary, append([]string{"kubectl"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.cp.Kubeconfig())
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("kubectl %v: %v: %s", args, err, out)
	}
	return out
}

// request is a run whose state is in the cluster.
func (c *cluster) request(action provider.Action, name string, files map[string]string) request {
	c.t.Helper()
	q := newRequest(c.t, action, files)
	ca, err := os.ReadFile(c.cp.CAFile)
	if err != nil {
		c.t.Fatal(err)
	}
	q.Cluster, q.State, q.Host, q.CA, q.Token = name, "", c.cp.URL, string(ca), c.token()
	return q
}

func (c *cluster) token() string {
	c.t.Helper()
	return c.kubectl("-n", "infrared", "create", "token", "tofu")
}

func (c *cluster) lease(name string) string {
	c.t.Helper()
	return c.kubectl("-n", "infrared", "get", "lease", "lock-tfstate-default-"+name+"-u0123abcd", "-o", "jsonpath={.spec.holderIdentity}")
}

// release is what a host does once it knows that the holder is dead.
func (c *cluster) release(name string) {
	c.t.Helper()
	c.kubectl("-n", "infrared", "delete", "lease", "lock-tfstate-default-"+name+"-u0123abcd")
}

func TestKubernetesState(t *testing.T) {
	c := newCluster(t)
	t.Run("Lifecycle", func(t *testing.T) { c.in(t).lifecycle() })
	t.Run("Lock", func(t *testing.T) { c.in(t).lock() })
	t.Run("NoRight", func(t *testing.T) { c.in(t).noRight() })
	t.Run("PluginKilled", func(t *testing.T) { c.in(t).pluginKilled() })
	t.Run("TofuKilled", func(t *testing.T) { c.in(t).tofuKilled() })
	t.Run("ServerAway", func(t *testing.T) { c.in(t).serverAway() })
}

func (c *cluster) in(t *testing.T) *cluster { return &cluster{t: t, cp: c.cp} }

// lifecycle plans, applies the saved plan with another token, and destroys.
func (c *cluster) lifecycle() {
	t := c.t
	q := c.request(provider.ActionPlan, "edge-us-east-1", small())
	q.set("names", []string{"a", "b"})
	planned, _, _ := q.must(t)
	plan, _, err := unpack(planned.Plan)
	if err != nil || bytes.Contains(plan, []byte(q.Token)) || !bytes.HasPrefix(plan, []byte("PK")) {
		t.Errorf("the saved plan: %v, %d bytes; it must not hold the token", err, len(plan))
	}
	q = q.with(provider.ActionApply)
	q.Token, q.Digest, q.Plan = c.token(), planned.PlanDigest, planned.Plan.Reveal()
	applied, _, log := q.must(t)
	if len(applied.Resources) != 2 || strings.Contains(log, q.Token) {
		t.Errorf("applied: %+v\n%s", applied.Resources, log)
	}
	secret := c.kubectl("-n", "infrared", "get", "secret", "tfstate-default-edge-us-east-1-u0123abcd", "-o", "jsonpath={.metadata.labels}")
	if !strings.Contains(secret, "tfstate") || c.lease(q.Cluster) != "" {
		t.Errorf("the state's Secret has the labels %s, its Lease is held by %q", secret, c.lease(q.Cluster))
	}
	if _, _, _, err := q.run(t); !errors.Is(err, provider.Conflict) || !strings.Contains(err.Error(), "the state") {
		t.Errorf("the same plan a second time: %v", err)
	}
	q.Digest, q.Plan = "", ""
	if gone, _, _ := q.with(provider.ActionDestroy).must(t); len(gone.Resources) > 0 {
		t.Errorf("left: %+v", gone.Resources)
	}
}

// lock is a lock that a dead run has left.
func (c *cluster) lock() {
	t := c.t
	q := c.request(provider.ActionApply, "locked", small())
	q.set("names", []string{"a"})
	q.must(t)
	info, _ := json.Marshal(map[string]string{"ID": "f2ab685b-0000-0000-0000-000000000001", "Operation": "OperationTypeApply", "Who": "root@tofu-edge-3-apply-x1"})
	lease := "lock-tfstate-default-locked-u0123abcd"
	c.kubectl("-n", "infrared", "patch", "lease", lease, "--type=merge", "-p", `{"spec":{"holderIdentity":"f2ab685b-0000-0000-0000-000000000001"}}`)
	c.kubectl("-n", "infrared", "annotate", "--overwrite", "lease", lease, "app.terraform.io/lock-info="+string(info))
	for _, action := range []provider.Action{provider.ActionPlan, provider.ActionDestroy} {
		result, _, _, err := q.with(action).run(t)
		if !errors.Is(err, provider.Conflict) || !strings.Contains(err.Error(), "f2ab685b-0000-0000-0000-000000000001") || !strings.Contains(err.Error(), "root@tofu-edge-3-apply-x1") {
			t.Errorf("%s under a lock: %v; want who holds it", action, err)
		}
		if len(result.Resources) != 1 {
			t.Errorf("%s under a lock still says what there is: %+v", action, result.Resources)
		}
	}
	c.release("locked")
	if gone, _, _ := q.with(provider.ActionDestroy).must(t); len(gone.Resources) > 0 {
		t.Errorf("left: %+v", gone.Resources)
	}
}

func (c *cluster) noRight() {
	q := c.request(provider.ActionPlan, "no-right", small())
	q.set("names", []string{"a"})
	q.Token = c.kubectl("-n", "infrared", "create", "token", "default")
	if _, _, _, err := q.run(c.t); !errors.Is(err, provider.Denied) || strings.Contains(err.Error(), q.Token) {
		c.t.Errorf("a token without the rights: %s %v", provider.KindOf(err), err)
	}
	q.Token = "S3CR3T-of-nobody"
	if _, _, log, err := q.run(c.t); !errors.Is(err, provider.Unauthenticated) || strings.Contains(err.Error()+log, "S3CR3T") {
		c.t.Errorf("a token of nobody's: %s %v", provider.KindOf(err), err)
	}
}

// gated is kill_test's, with the state in the cluster.
func (c *cluster) gated(name string) (q request, p *plugin, cloud string) {
	c.t.Helper()
	cloud = c.t.TempDir()
	if err := syscall.Mkfifo(cloud+"/gate", 0o600); err != nil {
		c.t.Fatal(err)
	}
	q = c.request(provider.ActionApply, unique(name), chain(cloud))
	p = q.start(c.t)
	p.await(provider.EventStarted, "terraform_data.three")
	eventually(c.t, func() error {
		if inCloud(cloud, "three") == "" {
			return errors.New("the third has not begun")
		}
		return nil
	})
	return q, p, cloud
}

func (c *cluster) pluginKilled() {
	q, p, cloud := c.gated("plugin-kill")
	kill(c.t, p.cmd.Process.Pid, syscall.SIGKILL)
	ended(c.t, q.Cluster)
	if holder := c.lease(q.Cluster); holder != "" {
		c.t.Errorf("the lock is still held by %s", holder)
	}
	opened(c.t, cloud)
	q.Ledger = ledger(p.events)
	result, _, log := q.must(c.t)
	if len(result.Resources) != 3 || len(result.LeftBehind) > 0 || inCloud(cloud, "one")+inCloud(cloud, "two") != "mademade" {
		c.t.Errorf("after the next apply: %+v; one %s, two %s\n%s", result, inCloud(cloud, "one"), inCloud(cloud, "two"), log)
	}
}

func (c *cluster) tofuKilled() {
	q, p, cloud := c.gated("tofu-kill")
	kill(c.t, processes(c.t, q.Cluster)[0], syscall.SIGKILL)
	last := p.end()
	var lost []string
	for _, left := range last.Result.LeftBehind {
		thing, _ := madeThing(left.Why)
		lost = append(lost, thing.Address)
	}
	slices.Sort(lost)
	// Less than 20 seconds after its beginning, an apply has written nothing.
	if fmt.Sprint(lost) != "[terraform_data.one terraform_data.two]" || !strings.Contains(last.Error, "signal 9") {
		c.t.Errorf("left behind %v, %s", lost, last.Error)
	}
	opened(c.t, cloud)
	q.Ledger = ledger(p.events)
	if _, _, _, err := q.run(c.t); !errors.Is(err, provider.Conflict) {
		c.t.Errorf("its lock is held: %v", err)
	}
	c.release(q.Cluster)
	result, _, log := q.must(c.t)
	if len(result.Resources) != 3 || len(result.LeftBehind) > 0 || inCloud(cloud, "one")+inCloud(cloud, "two") != "mademade" {
		c.t.Errorf("after the next apply: %+v; one %s, two %s\n%s", result, inCloud(cloud, "one"), inCloud(cloud, "two"), log)
	}
}

// serverAway takes the API server away at the end of an apply, when the state is to be written.
func (c *cluster) serverAway() {
	q, p, cloud := c.gated("server-away")
	c.cp.Kill(devstack.APIServer)
	opened(c.t, cloud)
	p.await(provider.EventDone, "terraform_data.three")
	ended(c.t, q.Cluster)
	if err := c.cp.StartComponent(devstack.APIServer); err != nil {
		c.t.Fatal(err)
	}
	last := p.end()
	if last.Error == "" || len(last.Result.Resources) != 3 || len(last.Result.LeftBehind) > 0 {
		c.t.Errorf("the run says %q and answers %+v", last.Error, last.Result)
	}
	eventually(c.t, func() error { _, err := c.try("get", "--raw", "/readyz"); return err })
	c.release(q.Cluster)
	result, _, _ := q.must(c.t)
	if len(result.Changes) > 0 || inCloud(cloud, "one") != "made" {
		c.t.Errorf("the next run does %v; one was %s", changed(result.Changes), inCloud(cloud, "one"))
	}
}
