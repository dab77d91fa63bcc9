// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

func TestCheckState(t *testing.T) {
	good := func(change func(*provider.State)) provider.State {
		s := provider.State{Host: "https://10.0.0.1:443", Namespace: "infrared", Suffix: "edge-us-east-1-u0123abcd"}
		change(&s)
		return s
	}
	tests := map[string]struct {
		reason string
		state  provider.State
		want   string
	}{
		"Good":         {"A cluster's name and incarnation.", good(func(*provider.State) {}), ""},
		"Loopback":     {"The proxy beside us.", good(func(s *provider.State) { s.Host = "http://127.0.0.1:8001" }), ""},
		"LongName":     {"42 characters and the incarnation.", good(func(s *provider.State) { s.Suffix = strings.Repeat("a", 42) + "-u0123abcd" }), ""},
		"Short":        {"The shortest.", good(func(s *provider.State) { s.Suffix = "a" }), ""},
		"NumberAtEnd":  {"Terraform refuses it, and somebody may take the state over with it.", good(func(s *provider.State) { s.Suffix = "edge-us-east-1" }), "state.suffix: must not end"},
		"TooLong":      {"It is the value of a label.", good(func(s *provider.State) { s.Suffix = strings.Repeat("a", 64) }), "state.suffix: must be at most 63"},
		"HyphenAtEnd":  {"It is the value of a label.", good(func(s *provider.State) { s.Suffix = "a-" }), "state.suffix"},
		"NoSuffix":     {"All clusters would share one state.", good(func(s *provider.State) { s.Suffix = "" }), "state.suffix"},
		"NoNamespace":  {"The state would be in whatever namespace is the default.", good(func(s *provider.State) { s.Namespace = "" }), "state.namespace"},
		"NoHost":       {"The state would be in whatever cluster the environment names.", good(func(s *provider.State) { s.Host = "" }), "state.host"},
		"TokenInClear": {"The token could be read on the way.", good(func(s *provider.State) { s.Host = "http://10.0.0.1" }), "state.host: is http"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := checkState(tc.state)
			if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// Providers put their sockets into TMPDIR, and a socket's path is short.
func TestTemporaryFolderIsShort(t *testing.T) {
	tests := map[string]struct {
		reason string
		root   func(t *testing.T) string
		tmpdir string
		within bool
	}{
		"Short": {"The run's folder is emptied by the next run, also after a kill.", shortFolder, "/tmp", true},
		"Long": {"A path that is too long for a socket.", func(t *testing.T) string {
			return filepath.Join(t.TempDir(), strings.Repeat("a", 80))
		}, "/tmp", false},
		"LongTMPDIR":     {"TMPDIR may be too long as well.", func(t *testing.T) string { return t.TempDir() }, "/tmp/" + strings.Repeat("a", 80), false},
		"ReadOnlyTMPDIR": {"Or can't be written.", func(t *testing.T) string { return t.TempDir() }, "/proc", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			root := tc.root(t)
			t.Setenv("TMPDIR", tc.tmpdir)
			f, err := newFolder(t.Context(), root, "edge")
			if err != nil {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			if within := strings.HasPrefix(f.temp, f.root); len(f.temp) > maxSocketFolder || within != tc.within {
				t.Errorf("%s\nTMPDIR is %s", tc.reason, f.temp)
			}
			f.close()
			if _, err := os.Stat(f.temp); err == nil {
				t.Errorf("%s is left", f.temp)
			}
		})
	}
}

func shortFolder(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "r") //nolint:usetesting // the path of t.TempDir is too long here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return root
}
