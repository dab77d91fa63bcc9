// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
)

func TestStop(t *testing.T) {
	cases := map[string]struct {
		reason  string
		prepare func(t *testing.T, root string)
		want    error
		purge   bool
	}{
		"nothing there": {
			reason:  "a stack that never had a real node is taken down all the same",
			prepare: func(t *testing.T, root string) { _ = os.Remove(root) },
		},
		"a node that was ended": {
			reason: "nothing but files is left of it",
			prepare: func(t *testing.T, root string) {
				if err := os.MkdirAll(filepath.Join(root, "containerd", "state"), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			purge: true,
		},
		"a node that runs": {
			reason: "its pods would be made again at once",
			prepare: func(t *testing.T, root string) {
				lock, err := folder.TryLock(filepath.Join(root, "lock"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = lock.Close() })
			},
			want: ErrRuns,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c.prepare(t, root)
			if err := Stop(t.Context(), root, time.Second, c.purge); !errors.Is(err, c.want) {
				t.Fatalf("%s: got %v, want %v", c.reason, err, c.want)
			}
			if _, err := os.Stat(root); c.purge && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the folder is left", c.reason)
			}
		})
	}
}

// A node that was killed leaves processes, which are known by the folder in their arguments.
func TestStopEndsWhatAKilledNodeLeft(t *testing.T) {
	root := t.TempDir()
	cmd := exec.Command("sh", "-c", "read forever", filepath.Join(root, "containerd", "config.toml"))
	in, err := cmd.StdinPipe() // it reads for as long as this is open
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := Stop(t.Context(), root, 0, false); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || err.Error() != "signal: killed" {
		t.Errorf("the process ended with %v", err)
	}
}

func TestCheck(t *testing.T) {
	long := "/" + strings.Repeat("a", maxRoot)
	for name, c := range map[string]struct{ reason, root, want string }{
		"too long": {"containerd would only say that an argument is invalid", long, "sockets need an absolute path"},
		"quotes":   {"the path stands in configuration files", `/tmp/a"b`, "characters that configuration files don't take"},
		"relative": {"containerd and the kubelet have other working folders", "node", "sockets need an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := (Options{Root: c.root}).check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
			}
		})
	}
}
