// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"path/filepath"
	"strings"
	"testing"

	"darkshift.io/infrared/internal/devstack/stack"
)

// A killed supervisor is one cause, told once, however many components went with it.
func TestStatusAfterKilledSupervisor(t *testing.T) {
	b := newBenchAt(t, func(t *testing.T, data string) {
		put(t, filepath.Join(data, "state.json"), `{"format": 1, "supervisor": 1, "generation": 1, "settled": true, "components": [
			{"cluster": "management", "name": "etcd", "phase": "Ready", "pid": 2, "log": "/x/etcd.log"},
			{"cluster": "edge", "name": "kube-apiserver", "phase": "NotReady", "pid": 3, "reason": "etcd is dead"}]}`)
	})
	want := "the supervisor was killed, and everything with it: start it again with ir dev up"
	for name, asJSON := range map[string]bool{"Table": false, "JSON": true} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := stack.PrintStatus(&out, b.status(), asJSON)
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			for _, row := range []string{"management", "etcd", "edge", "kube-apiserver"} {
				if !strings.Contains(out.String(), row) {
					t.Errorf("it printed\n%s\nwant %q in it", out.String(), row)
				}
			}
			if got := strings.Count(out.String(), string(stack.Dead)); got != 2 {
				t.Errorf("it printed\n%s\nwant two dead components", out.String())
			}
		})
	}
}
