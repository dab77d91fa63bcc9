// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/sdk/provider"
)

// children are the processes that a process has started and that still live.
func children(t *testing.T, parent int) []int {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found []int
	for _, path := range stats {
		if p, _, _, ok := readStat(path); ok && p == parent {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, pid)
		}
	}
	return found
}

// plugin is the process ID of the plugin of a run.
func (j *job) plugin() int {
	j.c.t.Helper()
	for _, pid := range children(j.c.t, j.cmd.Process.Pid) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(line, []byte("/toy")) {
			return pid
		}
	}
	j.c.t.Fatal("the run has no plugin")
	return 0
}

// tofu is the process ID of the OpenTofu of a run.
func (j *job) tofu() int {
	j.c.t.Helper()
	for _, p := range tofuProcesses(j.c.cloud.Name) {
		if !p.shim {
			return p.pid
		}
	}
	j.c.t.Fatal("the run has no OpenTofu")
	return 0
}

func kill(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatalf("signal %d to %d: %v", int(signal), pid, err)
	}
}

// goesOn applies once more, and fails the test where anything was made twice or is not accounted for.
func goesOn(t *testing.T, c *cluster, cloud string) run.Outcome {
	t.Helper()
	opened(t, cloud)
	before := c.ledger().Made
	next := c.ok(c.order(provider.ActionApply))
	if one, two := inCloud(cloud, "one"), inCloud(cloud, "two"); one != "made" || two != "made" {
		t.Errorf("made again: one %q, two %q", one, two)
	}
	accounted := append(ids(next.Resources), ids(next.LeftBehind)...)
	for _, made := range before {
		if !slices.Contains(accounted, made.ID) {
			t.Errorf("%s is not accounted for: %+v", made.ID, made)
		}
	}
	if len(next.Resources) != 3 {
		t.Errorf("there are %v, want three things", ids(next.Resources))
	}
	return next
}

// The plugin can't do anything any more, and its OpenTofu has to end in order all the same: its state goes through the proxy.
func TestPluginKilled(t *testing.T) {
	c, j, cloud := gated(t)
	tofu, plugin := j.tofu(), j.plugin()
	// OpenTofu can't end before the API server is back, by when a run that did not wait for it would be over.
	management.cp.Kill(devstack.APIServer)
	kill(t, plugin, syscall.SIGKILL)
	eventually(t, func() error {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", plugin)); err == nil {
			return errors.New("the plugin is still there")
		}
		return nil
	})
	must(t, 0, management.cp.StartComponent(devstack.APIServer))
	outcome := j.end()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", tofu)); err == nil {
		t.Error("OpenTofu outlived the run")
	}
	if f := outcome.Failure; f == nil || f.Reason != v1alpha1.ReasonProviderUnavailable || !strings.Contains(f.Message, "killed by signal 9") || !strings.HasSuffix(f.Message, "start the run again") {
		t.Errorf("the run failed with %+v", outcome.Failure)
	}
	if l := c.ledger(); !l.Unsettled || l.Order == nil {
		t.Errorf("nobody is told to look around: unsettled %v, order %+v", l.Unsettled, l.Order)
	}
	if len(c.ledger().Made) < 2 || c.ledger().Running != "" || c.locked() || !strings.Contains(c.state(), ids(c.ledger().Made)[0]) {
		t.Errorf("the ledger is %+v, locked %v", c.ledger(), c.locked())
	}
	goesOn(t, c, cloud)
}

// OpenTofu writes its state every 20 seconds: what it made since is in the ledger alone.
func TestTofuKilled(t *testing.T) {
	c, j, cloud := gated(t)
	kill(t, j.tofu(), syscall.SIGKILL)
	outcome := j.end()
	if f := outcome.Failure; f == nil || f.Reason != v1alpha1.ReasonProviderFailed || !strings.Contains(f.Message, "signal 9") {
		t.Errorf("the run failed with %+v", outcome.Failure)
	}
	if len(outcome.LeftBehind)+len(outcome.Resources) < 2 {
		t.Errorf("the outcome accounts for %v and %v", ids(outcome.Resources), ids(outcome.LeftBehind))
	}
	must(t, 0, os.WriteFile(filepath.Join(c.outside, "i-stray"), nil, 0o600))
	locked := c.fails(c.order(provider.ActionApply), v1alpha1.ReasonStateLocked)
	if !c.ledger().Unsettled {
		t.Error("a run that got nowhere has settled what the one before it left")
	}
	holder := c.lease()
	if f := locked.Failure; !strings.Contains(f.Message, *holder.Spec.HolderIdentity) || !strings.Contains(f.Message, "pod-1 on node node-1") {
		t.Errorf("a run under a lock failed with %+v", f)
	}
	c.unlock()
	next := goesOn(t, c, cloud)
	if l := c.ledger(); !slices.Contains(ids(next.LeftBehind), "i-stray") || l.Unsettled {
		t.Errorf("left behind %v, unsettled %v; want i-stray, found by a look", ids(next.LeftBehind), l.Unsettled)
	}
}

// Nobody is left to tell anything. The ledger has what was made, and the next run looks around.
func TestBuildKilled(t *testing.T) {
	c, j, cloud := gated(t)
	kill(t, j.cmd.Process.Pid, syscall.SIGKILL)
	j.wait()
	if j.outcome() != nil {
		t.Error("a run that was killed has an outcome")
	}
	eventually(t, func() error {
		// A pod takes all of its processes with it.
		for _, p := range tofuProcesses(c.cloud.Name) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if left := tofuProcesses(c.cloud.Name); len(left) > 0 {
			return fmt.Errorf("OpenTofu still runs: %v", left)
		}
		return nil
	})
	if len(c.ledger().Made) < 2 || c.ledger().Running != j.record || !c.ledger().Unsettled {
		t.Errorf("the ledger is %+v", c.ledger())
	}
	must(t, 0, os.WriteFile(filepath.Join(c.outside, "i-stray"), nil, 0o600))
	c.unlock()
	next := goesOn(t, c, cloud)
	if !slices.Contains(ids(next.LeftBehind), "i-stray") || !slices.Contains(ids(c.ledger().LeftBehind), "i-stray") {
		t.Errorf("what nobody accounts for is not left behind: %v", ids(next.LeftBehind))
	}
	must(t, 0, os.Remove(filepath.Join(c.outside, "i-stray")))
	must(t, 0, os.WriteFile(filepath.Join(c.outside, "i-new"), nil, 0o600))
	if gone := c.ok(c.order(provider.ActionApply)); len(gone.LeftBehind) != 1 || gone.LeftBehind[0].ID != "i-new" {
		t.Errorf("a look that does not find i-stray any more, and finds i-new, leaves %v", ids(gone.LeftBehind))
	}
	must(t, 0, os.Remove(filepath.Join(c.outside, "i-new")))
	c.ok(c.order(provider.ActionPlan))
	must(t, 0, os.WriteFile(filepath.Join(c.outside, "i-later"), nil, 0o600))
	if calm := c.ok(c.order(provider.ActionApply)); len(calm.LeftBehind) > 0 {
		t.Errorf("a run that follows on nothing looks around: %v", ids(calm.LeftBehind))
	}
}

// A drained node: what is in flight is ended in order, within the pod's grace.
func TestTerminated(t *testing.T) {
	c, j, cloud := gated(t)
	kill(t, j.cmd.Process.Pid, syscall.SIGTERM)
	kill(t, j.cmd.Process.Pid, syscall.SIGTERM)
	outcome := j.end()
	if f := outcome.Failure; f == nil || f.Reason != v1alpha1.ReasonInterrupted {
		t.Errorf("the run failed with %+v", outcome.Failure)
	}
	if len(outcome.Resources) != 3 || c.locked() || len(c.getSecret(c.names.State()).Data[keyState]) == 0 {
		t.Errorf("the state has %v, locked %v", ids(outcome.Resources), c.locked())
	}
	goesOn(t, c, cloud)
}

// An apply outlives an API server that is away for a while, and its state is written.
func TestServerAway(t *testing.T) {
	c, j, cloud := gated(t)
	management.cp.Kill(devstack.APIServer)
	opened(t, cloud)
	eventually(t, func() error {
		if inCloud(cloud, "three") != "begun made" {
			return errors.New("the third is not made yet")
		}
		return nil
	})
	const away = 10 * time.Second
	gone := time.NewTimer(away)
	defer gone.Stop()
	select {
	case <-gone.C:
	case <-j.ended:
		t.Errorf("the run ended while the API server was away: %v", j.err)
	}
	must(t, 0, management.cp.StartComponent(devstack.APIServer))
	j.wait()
	eventually(t, func() error {
		_, err := management.client.Discovery().ServerVersion()
		return err
	})
	outcome := j.end()
	if outcome.Failure != nil || len(outcome.Resources) != 3 || c.locked() || len(c.ledger().Made) != 3 {
		t.Errorf("the run ended with %+v, locked %v, ledger %v", outcome, c.locked(), ids(c.ledger().Made))
	}
}
