// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

// The next run may come at once, in the same folder, while OpenTofu still winds down.
func TestNextRunWaitsForTheLast(t *testing.T) {
	tests := map[string]struct {
		reason string
		kill   func(t *testing.T, p *plugin, tofu int)
	}{
		"Plugin": {"The shim has interrupted OpenTofu.", func(t *testing.T, p *plugin, _ int) {
			kill(t, p.cmd.Process.Pid, syscall.SIGKILL)
		}},
		"PluginAndShim": {"Nobody has, and the next run does.", func(t *testing.T, p *plugin, tofu int) {
			shim := parentOf(t, tofu)
			kill(t, p.cmd.Process.Pid, syscall.SIGSTOP) // or it would do it
			kill(t, shim, syscall.SIGKILL)
			kill(t, p.cmd.Process.Pid, syscall.SIGKILL)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q, p, cloud := gated(t, "next-"+strings.ToLower(name))
			tc.kill(t, p, processes(t, q.Cluster)[0])
			_ = p.cmd.Wait()
			q.Action = provider.ActionPlan
			q.Ledger = ledger(p.events)
			result, _, log := q.must(t)
			if got := changed(result.Changes); len(got) != 1 || !strings.HasPrefix(got[0], "Replace terraform_data.three because an earlier run did not finish it") || len(result.LeftBehind) > 0 {
				t.Errorf("%s\nthe next run plans %v, left behind %v\n%s", tc.reason, got, result.LeftBehind, log)
			}
			if pids := processes(t, q.Cluster); len(pids) > 0 {
				t.Errorf("OpenTofu still runs: %v", pids)
			}
			if inCloud(cloud, "one") != "made" {
				t.Errorf("one was %s", inCloud(cloud, "one"))
			}
		})
	}
}

// A state that could not be written is in the run's folder, and the next run there writes it.
func TestSpilledState(t *testing.T) {
	tests := map[string]struct {
		reason string
		serial int
		want   []string
		says   string
	}{
		"Newer": {"It is what the cloud is like.", 100, nil, "is written, which could not do it"},
		"Older": {"Somebody has gone on since.", 0, addresses("a"), "was dropped"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := newRequest(t, provider.ActionApply, small())
			q.set("names", []string{"a"})
			q.must(t)
			text, err := os.ReadFile(q.State)
			var s map[string]any
			if err == nil {
				err = json.Unmarshal(text, &s)
			}
			if err != nil {
				t.Fatal(err)
			}
			s["serial"], s["resources"] = tc.serial, []any{}
			text, _ = json.Marshal(s)
			if err := os.WriteFile(filepath.Join(layout(q.Folder).fetch, "module", spilled), text, 0o600); err != nil {
				t.Fatal(err)
			}
			result, seen, log := q.with(provider.ActionPlan).must(t)
			var got []string
			for _, r := range result.Resources {
				thing, _ := madeThing(r.Why)
				got = append(got, thing.Address)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s\nthe state has %v, want %v\n%s", tc.reason, got, tc.want, log)
			}
			said := strings.Join(append(seen.of(provider.EventMessage), seen.of(provider.EventWarning)...), "\n")
			if !strings.Contains(said, tc.says) {
				t.Errorf("%s\nsaid is:\n%s", tc.reason, said)
			}
			if _, err := os.Stat(layout(q.Folder).spilled); err == nil {
				t.Error("it would be written a second time")
			}
		})
	}
}
