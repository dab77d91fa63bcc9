// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/stack"
)

// Up's wait for a supervisor, played by the test: it holds the lock and says
// in state.json what it does.
func TestUpWaits(t *testing.T) {
	tests := map[string]struct {
		reason string
		state  string // state.json, with the supervisor's pid to fill in
		limit  time.Duration
		want   []string // in the error; none when Up is to succeed
	}{
		"Superseded": {
			reason: "A second Up put its wish in place of ours, which the supervisor then never names.",
			state:  `{"format": 1, "supervisor": %d, "generation": 7, "settled": true}`,
			limit:  time.Minute,
		},
		"Idle": {
			reason: "A supervisor that never takes up the wish must not be waited for without end.",
			state:  `{"format": 1, "supervisor": %d, "generation": 0, "settled": true}`,
			limit:  50 * time.Millisecond,
			want:   []string{"not up after all this time", "ir dev status", "ir dev down", "supervisor.log"},
		},
		"Stuck": {
			reason: "Nor one that took it up and never comes to an end with it.",
			state:  `{"format": 1, "supervisor": %d, "generation": 1, "settled": false}`,
			limit:  50 * time.Millisecond,
			want:   []string{"not up after all this time"},
		},
		"Replaced": {
			reason: "A state of another supervisor is not the one that was asked.",
			state:  `{"format": 1, "supervisor": 1%d, "generation": 1, "settled": true}`,
			limit:  50 * time.Millisecond,
			want:   []string{"not up after all this time"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBenchAt(t, func(t *testing.T, data string) {
				put(t, filepath.Join(data, "infrared-dev.json"), "{}")
				put(t, filepath.Join(data, "state.json"), fmt.Sprintf(tc.state, os.Getpid()))
			})
			lock, err := folder.TryLock(filepath.Join(b.Data, "supervisor.lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			fmt.Fprintln(lock, os.Getpid())

			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err = b.Up(ctx, stack.UpOptions{Out: io.Discard, Limit: tc.limit})
			if len(tc.want) == 0 && err != nil {
				t.Errorf("%s\nUp: %v", tc.reason, err)
			}
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s\ngot  %v\nwant %q in it", tc.reason, err, want)
				}
			}
		})
	}
}
