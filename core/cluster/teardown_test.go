// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
)

// TestTakeTeardown is when a person's word to destroy again counts as followed, and is dropped.
func TestTakeTeardown(t *testing.T) {
	status := func(record string, attempt int32) *v1alpha1.RunStatus {
		return &v1alpha1.RunStatus{Action: v1alpha1.ActionDestroy, Phase: v1alpha1.RunFailed, Record: record, Attempt: attempt}
	}
	cases := map[string]struct {
		reason string
		before *v1alpha1.RunStatus
		turn   *build.Turn
		want   bool
	}{
		"NotAsked":     {"no step asked the builder", status("a", 1), nil, false},
		"SameRun":      {"the failed run is told of once more", status("a", 1), &build.Turn{Run: status("a", 1)}, false},
		"NextAttempt":  {"the destroy runs again", status("a", 1), &build.Turn{Run: status("a-2", 2)}, true},
		"FirstRun":     {"nothing ran before", nil, &build.Turn{Run: status("a", 1)}, true},
		"CannotBegin":  {"it waits for credentials or a plugin, and the word must outlast that", status("a", 1), &build.Turn{Run: status("", 2)}, false},
		"NothingToRun": {"nothing was ever built", nil, &build.Turn{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &v1alpha1.Cluster{}
			c.Status.Run = tc.before
			if got := newScope(c).takeTeardown(tc.turn); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}
