// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

// chain is a module with three things, one after the other, in a cloud that is a folder. The third waits at a gate.
func chain(cloud string) map[string]string {
	return map[string]string{"main.tf": fmt.Sprintf(`
resource "terraform_data" "one" {
  provisioner "local-exec" { command = "echo made >> %[1]s/one" }
}
resource "terraform_data" "two" {
  depends_on = [terraform_data.one]
  provisioner "local-exec" { command = "echo made >> %[1]s/two" }
}
resource "terraform_data" "three" {
  depends_on = [terraform_data.two]
  provisioner "local-exec" { command = "echo begun >> %[1]s/three; cat %[1]s/gate >/dev/null; echo made >> %[1]s/three" }
}
`, cloud)}
}

// gated is a run of chain that stands at its gate.
func gated(t *testing.T, cluster string) (q request, p *plugin, cloud string) {
	t.Helper()
	cloud = t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(cloud, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	q = newRequest(t, provider.ActionApply, chain(cloud))
	q.Cluster = unique(cluster)
	p = q.start(t)
	p.await(provider.EventStarted, "terraform_data.three")
	eventually(t, func() error {
		if inCloud(cloud, "three") == "" {
			return errors.New("the third has not begun")
		}
		return nil
	})
	t.Cleanup(func() {
		for _, pid := range processes(t, q.Cluster) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return q, p, cloud
}

// unique is a cluster's name that another run of the tests on this machine does not have.
func unique(name string) string { return fmt.Sprintf("%s-%d", name, os.Getpid()) }

// inCloud is what became of a thing.
func inCloud(cloud, name string) string {
	text, _ := os.ReadFile(filepath.Join(cloud, name))
	return strings.Join(strings.Fields(string(text)), " ")
}

// opened lets a run through the gate from now on.
func opened(t *testing.T, cloud string) {
	t.Helper()
	gate := filepath.Join(cloud, "gate")
	// For reading too, so that it opens where nobody waits at it. Whoever does then sees its end.
	pipe, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// written are the things in the state file that are whole.
func written(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(text) == 0 {
		return nil // empty is what a kill in the middle of writing leaves
	}
	var s state
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatalf("the state: %v", err)
	}
	all := map[string]string{}
	for _, thing := range s.things() {
		all[thing.Address] = thing.ID
	}
	return all
}

// A plugin that is killed can't do anything any more. OpenTofu has to end in order all the same.
func TestPluginKilledInMidApply(t *testing.T) {
	q, p, cloud := gated(t, "plugin-killed")
	kill(t, p.cmd.Process.Pid, syscall.SIGKILL)
	ended(t, q.Cluster)
	state := written(t, q.State)
	if len(state) != 3 || state["terraform_data.one"] == "" || state["terraform_data.two"] == "" {
		t.Fatalf("the state has %v, want all three: two made and one begun", state)
	}
	if locks, _ := filepath.Glob(filepath.Join(filepath.Dir(q.State), ".*.lock.info")); len(locks) > 0 {
		t.Errorf("the lock is still held: %v", locks)
	}

	opened(t, cloud)
	q.Ledger = ledger(p.events)
	result, _, log := q.must(t)
	if len(result.LeftBehind) > 0 || len(result.Resources) != 3 {
		t.Errorf("after the next apply: %+v\n%s", result, log)
	}
	if one, two := inCloud(cloud, "one"), inCloud(cloud, "two"); one != "made" || two != "made" {
		t.Errorf("made again: one %q, two %q", one, two)
	}
}

// What OpenTofu made in the last seconds before it was killed is not in its state.
func TestTofuKilledInMidApply(t *testing.T) {
	q, p, cloud := gated(t, "tofu-killed")
	pids := processes(t, q.Cluster)
	if len(pids) != 1 {
		t.Fatalf("%d processes of OpenTofu's, want 1", len(pids))
	}
	kill(t, pids[0], syscall.SIGKILL)
	last := p.end()
	if last.Kind != provider.Other || !strings.Contains(last.Error, "ended by signal 9") {
		t.Errorf("the run says %s: %s", last.Kind, last.Error)
	}
	// Whatever the state has, the rest is named.
	state := written(t, q.State)
	accounted := map[string]bool{}
	for address := range state {
		accounted[address] = true
	}
	for _, left := range last.Result.LeftBehind {
		thing, ok := madeThing(left.Why)
		if !ok {
			t.Errorf("nobody can import %+v", left)
		}
		accounted[thing.Address] = true
	}
	if !accounted["terraform_data.one"] || !accounted["terraform_data.two"] {
		t.Fatalf("unaccounted: in the state %v, left behind %+v", state, last.Result.LeftBehind)
	}

	opened(t, cloud)
	_ = os.Remove(q.State) // as if none of it had been written
	q.Ledger = ledger(p.events)
	unlock(t, q)
	result, seen, log := q.must(t)
	if len(result.Resources) != 3 || len(result.LeftBehind) > 0 {
		t.Fatalf("after the next apply: %+v\n%s", result, log)
	}
	if one, two := inCloud(cloud, "one"), inCloud(cloud, "two"); one != "made" || two != "made" {
		t.Errorf("made again: one %q, two %q; %v", one, two, seen.of(provider.EventMessage))
	}
	for _, made := range q.Ledger {
		if !slices.ContainsFunc(result.Resources, func(r provider.Resource) bool { return r.ID == made.ID }) {
			t.Errorf("%s is not in the state", made.ID)
		}
	}
}

// unlock is what a host does once it knows that the holder is dead.
func unlock(t *testing.T, q request) {
	t.Helper()
	locks, _ := filepath.Glob(filepath.Join(filepath.Dir(q.State), ".*.lock.info"))
	for _, lock := range locks {
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
	}
}

// Stop, or a drained node: the call's context ends.
func TestInterruptedApply(t *testing.T) {
	q, p, cloud := gated(t, "interrupted")
	kill(t, p.cmd.Process.Pid, syscall.SIGTERM)
	last := p.end()
	if last.Kind != provider.Unavailable || !strings.Contains(last.Error, "applying was interrupted") {
		t.Errorf("the run says %s: %s", last.Kind, last.Error)
	}
	if len(last.Result.Resources) != 3 || len(last.Result.LeftBehind) > 0 || len(last.Result.Changes) != 2 {
		t.Errorf("what it answers: %+v", last.Result)
	}
	if pids := processes(t, q.Cluster); len(pids) > 0 {
		t.Errorf("OpenTofu outlived the call: %v", pids)
	}
	opened(t, cloud)
	result, _, _ := q.must(t)
	if len(result.Resources) != 3 || inCloud(cloud, "one") != "made" {
		t.Errorf("the same run again: %+v, one was %s", result.Resources, inCloud(cloud, "one"))
	}
}

// The shim stands between the two, and its death must not orphan an apply.
func TestShimKilledInMidApply(t *testing.T) {
	q, p, _ := gated(t, "shim-killed")
	pids := processes(t, q.Cluster)
	if len(pids) != 1 {
		t.Fatalf("%d processes of OpenTofu's, want 1", len(pids))
	}
	kill(t, parentOf(t, pids[0]), syscall.SIGKILL)
	last := p.end()
	if !strings.Contains(last.Error, "signal 9") {
		t.Errorf("the run says %s", last.Error)
	}
	ended(t, q.Cluster)
	if state := written(t, q.State); len(state) != 3 {
		t.Errorf("the state has %v, want all three", state)
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	var state string
	var parent int
	if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}

// The whole group may be told to stop, as a terminal does: OpenTofu must hear it once, or it drops its state.
func TestInterruptedTwice(t *testing.T) {
	q, p, _ := gated(t, "twice")
	pids := processes(t, q.Cluster)
	if len(pids) != 1 {
		t.Fatalf("%d processes of OpenTofu's, want 1", len(pids))
	}
	shim := parentOf(t, pids[0])
	for range 3 {
		kill(t, shim, syscall.SIGINT)
	}
	kill(t, p.cmd.Process.Pid, syscall.SIGTERM)
	p.end()
	ended(t, q.Cluster)
	if state := written(t, q.State); len(state) != 3 {
		t.Errorf("the state has %v, want all three", state)
	}
}

func TestLedger(t *testing.T) {
	q := newRequest(t, provider.ActionApply, map[string]string{"main.tf": `
variable "names" { type = set(string) }
resource "terraform_data" "thing" { for_each = var.names }
`})
	q.set("names", []string{"a", "b"})
	q.must(t)
	as := func(id, address string) provider.Resource {
		return provider.Resource{Kind: "terraform-data", ID: id, Proof: provider.ProofRecorded, Why: madeAs(Thing{Address: address, Type: "terraform_data"}, id)}
	}
	q.Ledger = []provider.Resource{
		as("1", `terraform_data.thing["a"]`), {Kind: "disk", ID: "2", Why: "somebody saw it"}, as("3", `terraform_data.gone["c"]`),
		as("4", `terraform_data.thing["c"]`), as("5", `terraform_data.thing["c"]`),
	}
	q.set("names", []string{"a", "b", "c"})
	result, _, log := q.must(t)
	got := map[string]string{}
	for _, left := range result.LeftBehind {
		_, got[left.ID], _ = strings.Cut(left.Why, "; ")
	}
	const taken = "another one has its place in the state"
	for id, want := range map[string]string{"1": taken, "2": "nothing tells its address", "3": "it could not be imported", "4": taken} {
		if !strings.Contains(got[id], want) {
			t.Errorf("%s is left behind because %q, want %q", id, got[id], want)
		}
	}
	if len(got) != 4 || !slices.ContainsFunc(result.Resources, func(r provider.Resource) bool { return r.ID == "5" }) {
		t.Errorf("the newest of what had one place is imported: %v, %+v\n%s", got, result.Resources, log)
	}

	q.Ledger = q.Ledger[:2]
	gone, _, _ := q.with(provider.ActionDestroy).must(t)
	var left []string
	for _, r := range gone.LeftBehind {
		left = append(left, r.ID)
	}
	slices.Sort(left)
	if diff := cmp.Diff([]string{"1", "2"}, left); diff != "" || len(gone.Resources) > 0 {
		t.Errorf("after a destroy (-want +got):\n%s", diff)
	}
}
