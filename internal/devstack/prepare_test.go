// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"darkshift.io/infrared/internal/devstack"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every folder that can't be used is refused before anything in it is touched,
// with what to do.
func TestPrepareRefuses(t *testing.T) {
	tests := map[string]struct {
		reason string
		make   func(t *testing.T, dir string) // what lies there beforehand
		want   []string
	}{
		"Foreign": {
			reason: "A folder with somebody's files is not a data folder, however it got its name.",
			make:   func(t *testing.T, dir string) { put(t, filepath.Join(dir, "thesis.tex"), "mine") },
			want:   []string{"not ours", `"thesis.tex"`, "name another with --data"},
		},
		"OtherVersion": {
			reason: "Data of another release is not migrated.",
			make: func(t *testing.T, dir string) {
				put(t, filepath.Join(dir, "versions.json"), `{"kubernetes": "v1.20.3", "etcd": "v3.4.1"}`)
			},
			want: []string{"is of Kubernetes v1.20.3 and etcd v3.4.1", "ir dev down --purge"},
		},
		"DamagedMark": {
			reason: "A mark that can't be read proves nothing.",
			make:   func(t *testing.T, dir string) { put(t, filepath.Join(dir, "versions.json"), "rubbish") },
			want:   []string{"versions.json is damaged", "ir dev down --purge"},
		},
		"DamagedPort": {
			reason: "A file that we wrote and somebody changed is named.",
			make: func(t *testing.T, dir string) {
				versions, err := devstack.BinaryVersions(binary(t))
				if err != nil {
					t.Fatal(err)
				}
				put(t, filepath.Join(dir, "versions.json"), fmt.Sprintf(`{"kubernetes": %q, "etcd": %q}`, versions.Kubernetes, versions.Etcd))
				put(t, filepath.Join(dir, "port"), "http")
			},
			want: []string{"port should hold a port number", "remove it"},
		},
		"File": {
			reason: "What is not a folder at all can't be one.",
			make:   func(t *testing.T, dir string) { put(t, dir, "a file") },
			want:   []string{"not a directory", "--data"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			tc.make(t, dir)
			cp, err := devstack.Prepare(devstack.Options{Dir: dir, Binary: binary(t)})
			if err == nil {
				cp.Stop()
				t.Fatalf("%s\nit was taken", tc.reason)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s\ngot  %v\nwant %q in it", tc.reason, err, want)
				}
			}
		})
	}
}

// Kubeconfigs name the port, so a control plane gets back the one it had, or
// says who has it.
func TestPort(t *testing.T) {
	dir := t.TempDir()
	prepare := func(o devstack.Options) (*devstack.ControlPlane, error) {
		o.Dir, o.Name, o.Binary = dir, "edge", binary(t)
		cp, err := devstack.Prepare(o)
		if err == nil {
			t.Cleanup(cp.Stop)
		}
		return cp, err
	}
	first, err := prepare(devstack.Options{})
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	first.Stop()
	again, err := prepare(devstack.Options{})
	if err != nil || again.URL != first.URL {
		t.Fatalf("a second start is at %v (%v), the first was at %s", again, err, first.URL)
	}
	again.Stop()

	listener, err := net.Listen("tcp4", strings.TrimPrefix(first.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = prepare(devstack.Options{})
	var taken *devstack.PortTakenError
	if !errors.As(err, &taken) {
		t.Fatalf("with its port in other hands: %v, want a PortTakenError", err)
	}
	for _, want := range []string{strings.TrimPrefix(first.URL, "https://"), `"edge"`, fmt.Sprintf("process %d", os.Getpid()), "--new-ports"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	moved, err := prepare(devstack.Options{NewPort: true})
	if err != nil || moved.URL == first.URL {
		t.Fatalf("NewPort: at %v (%v), want another port than %s", moved, err, first.URL)
	}
	config, err := os.ReadFile(moved.Kubeconfig())
	if err != nil || !strings.Contains(string(config), "server: "+moved.URL+"\n") {
		t.Errorf("the kubeconfig doesn't name the new port (%v)", err)
	}
}

func TestBinaryMissing(t *testing.T) {
	t.Setenv(devstack.BinaryEnv, filepath.Join(t.TempDir(), "nothing"))
	_, err := devstack.StartControlPlane(t.Context(), devstack.Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "is missing: correct or unset "+devstack.BinaryEnv) {
		t.Errorf("got %v, want the way out", err)
	}
	empty := t.TempDir()
	put(t, filepath.Join(empty, "go.mod"), "module darkshift.io/infrared\n")
	t.Setenv(devstack.BinaryEnv, "")
	t.Chdir(empty)
	_, err = devstack.StartControlPlane(t.Context(), devstack.Options{Dir: t.TempDir()})
	if err == nil || !strings.HasSuffix(err.Error(), ".dev/bin/controlplane is missing: run make stack") {
		t.Errorf("got %v, want to be told to run make stack", err)
	}
}

func TestCheckName(t *testing.T) {
	tests := map[string]struct {
		reason string
		name   string
		want   string // in the error; "" when it is fine
	}{
		"Plain":    {"The usual.", "edge-2", ""},
		"Number":   {"A name may be a number.", "7", ""},
		"Longest":  {"42 characters are allowed.", strings.Repeat("a", 42), ""},
		"TooLong":  {"43 are not.", strings.Repeat("a", 43), "has 43 characters: at most 42"},
		"Empty":    {"No name is no name.", "", "can't be empty"},
		"Upper":    {"It becomes part of object names.", "Edge", "lowercase letters, digits and hyphens"},
		"Dot":      {"Dots are allowed in object names, not in a cluster's.", "a.b", "lowercase letters"},
		"Path":     {"It becomes a folder's name.", "../x", "lowercase letters"},
		"Hyphen":   {"Not at an end.", "edge-", "no hyphen at either end"},
		"Newline":  {"A pattern's end is not a line's end.", "edge\n", "lowercase letters"},
		"Reserved": {"Some names are taken.", "bin", "is taken by the stack itself"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := devstack.CheckName(tc.name, "bin")
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nCheckName(%q) = %v, want %q", tc.reason, tc.name, err, tc.want)
			}
		})
	}
}
