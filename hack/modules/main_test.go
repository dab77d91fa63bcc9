// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModules lays the modules out twice at one tag, once at the next, and sees what git gives back.
func TestModules(t *testing.T) {
	repo := filepath.Join("..", "..")
	plugins := filepath.Join(repo, ".dev", "bin", "plugins")
	if _, err := os.Stat(filepath.Join(plugins, "fake")); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	out := filepath.Join(t.TempDir(), "modules")
	for _, version := range []string{"v0.1.0", "v0.1.0", "v0.2.0"} {
		if err := run(repo, plugins, out, version); err != nil {
			t.Fatalf("%s: %v", version, err)
		}
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if said, err := exec.Command("git", "clone", "--quiet", "--branch", "v0.1.0", out, clone).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, file := range []string{"main.tf", "variables.tf", "outputs.tf"} {
		want, err := os.ReadFile(filepath.Join(repo, "sdk", "fake", "module", file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(clone, "fake", "cluster", file))
		if err != nil || string(got) != string(want) {
			t.Errorf("fake/cluster/%s is not the module's at v0.1.0: %v", file, err)
		}
	}
	if _, err := os.Stat(filepath.Join(clone, "fake", "cluster", "module.go")); err == nil {
		t.Error("what is not the module's is left out")
	}
}

// TestRefused is what is never published.
func TestRefused(t *testing.T) {
	repo := filepath.Join("..", "..")
	plugins := filepath.Join(repo, ".dev", "bin", "plugins")
	out := t.TempDir()
	if err := run(repo, plugins, out, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	changed := t.TempDir()
	if err := os.WriteFile(filepath.Join(changed, "main.tf"), []byte("# other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		do     func() error
		want   string
	}{
		"Moved":    {"clusters were built from what the tag was", func() error { return publish(changed, out, "v0.1.0") }, "a tag never moves"},
		"NoTag":    {"a repository without a tag can't be asked for", func() error { return run(repo, plugins, out, "") }, "--version is missing"},
		"OddTag":   {"what no Cluster may name", func() error { return run(repo, plugins, out, "v1&depth=1") }, "--version"},
		"NotBuilt": {"only the plugin knows its template's name", func() error { return run(repo, t.TempDir(), out, "v0.2.0") }, "make build"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := tc.do(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
