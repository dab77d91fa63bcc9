// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"darkshift.io/infrared/internal/devstack/stack"
)

// What can't work is refused before anything is started, with the way out.
func TestUpRefuses(t *testing.T) {
	tests := map[string]struct {
		reason   string
		clusters []string
		make     func(t *testing.T, data string)
		want     []string
	}{
		"Name": {
			reason:   "A cluster's name follows the rule for Clusters.",
			clusters: []string{"Edge_1"},
			want:     []string{`"Edge_1"`, "lowercase letters, digits and hyphens"},
		},
		"Management": {
			reason:   "There is one management cluster.",
			clusters: []string{"management"},
			want:     []string{`"management"`, "taken by the stack itself"},
		},
		"Kubeconfig": {
			reason:   "kubeconfig is a file in the data folder already.",
			clusters: []string{"kubeconfig"},
			want:     []string{"taken by the stack itself"},
		},
		"ForeignFolder": {
			reason: "A folder with somebody's files must stay as it is.",
			make:   func(t *testing.T, data string) { put(t, filepath.Join(data, "photo.jpg"), "mine") },
			want:   []string{"not ours", "photo.jpg", "--data"},
		},
		"NotAFolder": {
			reason: "Nor can a file be made a folder.",
			make:   func(t *testing.T, data string) { put(t, data, "mine") },
			want:   []string{"not a directory", "--data"},
		},
		"DamagedWish": {
			reason: "A file of ours that can't be read is named.",
			make: func(t *testing.T, data string) {
				put(t, filepath.Join(data, "infrared-dev.json"), "{}")
				put(t, filepath.Join(data, "wanted.json"), "rubbish")
			},
			want: []string{"wanted.json is damaged", "ir dev down"},
		},
		"OtherFormat": {
			reason: "Files of another version of ir are not guessed at.",
			make: func(t *testing.T, data string) {
				put(t, filepath.Join(data, "infrared-dev.json"), "{}")
				put(t, filepath.Join(data, "wanted.json"), `{"format": 99}`)
			},
			want: []string{"another version of ir", "ir dev down --purge"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBenchAt(t, tc.make)
			err := b.Up(t.Context(), stack.UpOptions{Clusters: tc.clusters, Out: io.Discard})
			if err == nil {
				t.Fatalf("%s\nit was taken", tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s\ngot  %v\nwant %q in it", tc.reason, err, want)
				}
			}
			if left := b.running(); len(left) > 0 {
				t.Errorf("it left %v running", left)
			}
		})
	}
}

// newBenchAt is a bench whose data folder has something in it beforehand.
func newBenchAt(t *testing.T, fill func(t *testing.T, data string)) *bench {
	t.Helper()
	s, err := stack.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	if fill != nil {
		fill(t, s.Data)
	}
	s.Supervisor = []string{os.Args[0]}
	t.Setenv(superviseEnv, "1")
	return &bench{Stack: s, t: t}
}

func TestDownLeavesForeignFoldersAlone(t *testing.T) {
	b := newBenchAt(t, func(t *testing.T, data string) { put(t, filepath.Join(data, "photo.jpg"), "mine") })
	if err := b.Down(context.Background(), true, io.Discard); err == nil || !strings.Contains(err.Error(), "not ours") {
		t.Errorf("Down --purge of a foreign folder: %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.Data, "photo.jpg")); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

func TestLogs(t *testing.T) {
	b := newBenchAt(t, func(t *testing.T, data string) {
		put(t, filepath.Join(data, "supervisor.log"), "s1\n")
		put(t, filepath.Join(data, "edge", "logs", "etcd.log"), "e1\ne2\ne3\n")
		put(t, filepath.Join(data, "west", "logs", "etcd.log"), "w1\n")
	})
	tests := map[string]struct {
		reason    string
		component string
		lines     int
		want      string
	}{
		"One":        {"A full name is one log, printed as it is.", "edge/etcd", 2, "e2\ne3\n"},
		"Everywhere": {"A component's name is that of every cluster.", "etcd", 1, "[edge/etcd] e3\n[west/etcd] w1\n"},
		"Cluster":    {"A cluster's name is all its logs.", "west", 5, "w1\n"},
		"Supervisor": {"The supervisor belongs to no cluster.", "supervisor", 5, "s1\n"},
		"All":        {"No name is all there is.", "", 1, "[supervisor] s1\n[edge/etcd] e3\n[west/etcd] w1\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := b.Logs(t.Context(), stack.LogOptions{Component: tc.component, Lines: tc.lines, Out: &out})
			if err != nil || out.String() != tc.want {
				t.Errorf("%s\ngot  %q (%v)\nwant %q", tc.reason, out.String(), err, tc.want)
			}
		})
	}
	err := b.Logs(t.Context(), stack.LogOptions{Component: "nothing", Out: io.Discard})
	if err == nil || !strings.HasSuffix(err.Error(), "choose of supervisor, edge/etcd, west/etcd") {
		t.Errorf("an unknown log: %v, want the known ones", err)
	}
}

// Following ends with its context and shows what is added, a new beginning
// included.
func TestLogsFollow(t *testing.T) {
	b := newBenchAt(t, func(t *testing.T, data string) { put(t, filepath.Join(data, "edge", "logs", "etcd.log"), "old line\n") })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := b.Logs(ctx, stack.LogOptions{Component: "edge", Lines: -1, Follow: true, Out: w})
		_ = w.Close()
		done <- err
	}()
	read := func(want string) {
		t.Helper()
		buf := make([]byte, len(want))
		if _, err := io.ReadFull(r, buf); err != nil || string(buf) != want {
			t.Fatalf("followed %q (%v), want %q", buf, err, want)
		}
	}
	read("old line\n")
	put(t, filepath.Join(b.Data, "edge", "logs", "etcd.log"), "old line\nmore\n")
	read("more\n")
	put(t, filepath.Join(b.Data, "edge", "logs", "etcd.log"), "new\n")
	read("new\n")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Logs: %v", err)
	}
}
