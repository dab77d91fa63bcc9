// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// point is where a run is killed: before or after its nth write to the cloud.
type point struct {
	n     int
	after bool
	// tofu says that OpenTofu is killed, or else the plugin.
	tofu bool
}

func (p point) String() string {
	when, whom := "before", "plugin"
	if p.after {
		when = "after"
	}
	if p.tofu {
		whom = "tofu"
	}
	return fmt.Sprintf("%s %s write %d", whom, when, p.n)
}

// trap is a world in which a run can be killed at a point.
type trap struct {
	*world
	armed  atomic.Bool
	n      atomic.Int32
	point  point
	spring func()
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	tr := &trap{}
	sprung := func(after bool) bool {
		if tr.point.after != after || int(tr.n.Load()) != tr.point.n || !tr.armed.CompareAndSwap(true, false) {
			return false
		}
		tr.spring()
		return true
	}
	tr.world = newWorld(t, func(o *httpcloud.Options) {
		o.Before = func(httpcloud.Write) bool {
			tr.n.Add(1)
			return !sprung(false) // the request of somebody dead has not arrived
		}
		o.After = func(httpcloud.Write) { sprung(true) }
	})
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(t.Name()))
	tr.cluster.Name = unique(fmt.Sprintf("k%08x", sum.Sum32()))
	return tr
}

// run runs a request in a process that is killed at the point. It returns what the host has heard, and whether the point was reached.
func (tr *trap) run(t *testing.T, at point, req provider.BuildRequest) (heard []provider.Event, reached bool) {
	t.Helper()
	ready := make(chan *process, 1)
	tr.point = at
	tr.n.Store(0)
	tr.spring = func() {
		p := <-ready
		if !at.tofu {
			kill9(p.cmd.Process.Pid)
			gone(t, "the plugin", func() bool { return dead(p.cmd.Process.Pid) })
			return
		}
		for _, pid := range tr.tofus() {
			kill9(pid)
			gone(t, "OpenTofu", func() bool { return dead(pid) })
		}
	}
	tr.armed.Store(at.n > 0)
	p := tr.start(t, req)
	ready <- p
	<-p.ended
	gone(t, "OpenTofu", func() bool { return !slices.ContainsFunc(tr.tofus(), func(pid int) bool { return !dead(pid) }) })
	reached = !tr.armed.Swap(false)
	// What a host does once it knows that the holder is dead.
	locks, _ := filepath.Glob(filepath.Join(filepath.Dir(tr.fake.localState), ".*.lock.info"))
	for _, lock := range locks {
		_ = os.Remove(lock)
	}
	return p.events, reached
}

// TestKill kills OpenTofu and the plugin before and after every write to the cloud. Whatever was killed, the next apply doubles
// nothing, and a destroy leaves nothing.
func TestKill(t *testing.T) {
	grown := map[string]any{"node_count": 3, "note": "more"}
	for name, c := range map[string]struct {
		reason    string
		first     map[string]any // what is built beforehand; nil: nothing
		action    provider.Action
		variables map[string]any
		writes    []string // those of the run that nobody kills
	}{
		"apply": {
			reason: "everything is made", action: provider.ActionApply, variables: map[string]any{},
			writes: []string{"create network", "create cluster", "create node-group"},
		},
		"change": {
			reason: "things are changed in place", first: map[string]any{}, action: provider.ActionApply, variables: grown,
			writes: []string{"update cluster", "update node-group"},
		},
		"destroy": {
			reason: "everything is taken away", first: map[string]any{}, action: provider.ActionDestroy, variables: map[string]any{},
			writes: []string{"delete node-group", "delete cluster", "delete network"},
		},
	} {
		for n := range len(c.writes) + 1 {
			for _, at := range []point{{n, false, true}, {n, true, true}, {n, false, false}, {n, true, false}} {
				if n == 0 && at != (point{}) {
					continue // once, without a kill: the writes are those that we know
				}
				t.Run(fmt.Sprintf("%s/%s", name, at), func(t *testing.T) {
					t.Parallel()
					tr := newTrap(t)
					var made []provider.Resource
					if c.first != nil {
						made = tr.must(t, provider.ActionApply, c.first).Resources
					}
					before := len(tr.writes())
					req := tr.request(c.action, c.variables)
					req.Ledger = made
					heard, reached := tr.run(t, at, req)
					if n == 0 {
						if diff := cmp.Diff(c.writes, tr.writes()[before:]); diff != "" {
							t.Fatalf("a run that nobody kills writes (-want +got):\n%s", diff)
						}
						return
					}
					if !reached {
						t.Fatalf("the run never came to its write %d: %v", n, tr.writes()[before:])
					}
					tr.recover(t, c.action, c.variables, append(made, ledger(heard)...))
				})
			}
		}
	}
}

// recover does what a host does after a kill, and holds the cloud against it.
func (tr *trap) recover(t *testing.T, action provider.Action, variables map[string]any, kept []provider.Resource) {
	t.Helper()
	if action == provider.ActionApply && tr.point.n%2 == 1 {
		// Every other time nobody applies again: what was half made has to be found by a destroy alone.
		before := len(tr.writes())
		req := tr.request(provider.ActionApply, variables)
		req.Ledger = kept
		result, _, err := tr.build(t, req)
		if err != nil {
			t.Fatalf("the next apply: %v", err)
		}
		if diff := cmp.Diff([]string{"cluster", "network", "node-group"}, tr.kinds()); diff != "" || len(result.Resources) != 3 || len(result.LeftBehind) > 0 {
			t.Errorf("after the next apply, in the cloud (-want +got):\n%s\nand in the result %+v, left behind %+v", diff, result.Resources, result.LeftBehind)
		}
		for _, write := range tr.writes()[before:] {
			if strings.HasPrefix(write, "delete") {
				t.Errorf("the next apply took something away: %v", tr.writes()[before:])
			}
		}
		for i, write := range tr.writes() {
			if strings.HasPrefix(write, "create") && slices.Contains(tr.writes()[:i], write) {
				t.Errorf("made twice: %v", tr.writes())
			}
		}
		kept = result.Resources
	}
	req := tr.request(provider.ActionDestroy, variables)
	req.Ledger = kept
	result, _, err := tr.build(t, req)
	if err != nil {
		t.Fatalf("the next destroy: %v", err)
	}
	if left := tr.in(); len(left) > 0 || len(result.Resources) > 0 || len(result.LeftBehind) > 0 {
		t.Errorf("after a destroy the cloud has %v; the result has %+v, left behind %+v", left, result.Resources, result.LeftBehind)
	}
}
