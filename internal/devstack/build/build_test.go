// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A module as small as can be stands for the large ones.
func TestBuild(t *testing.T) {
	root := t.TempDir()
	main := filepath.Join(root, "hack", "tiny", "main.go")
	write(t, filepath.Join(root, "hack", "tiny", "go.mod"), "module example.com/tiny\n\ngo 1.26\n\nrequire example.com/dep v1.2.3\n\nreplace example.com/dep => ./dep\n")
	write(t, filepath.Join(root, "hack", "tiny", "dep", "go.mod"), "module example.com/dep\n")
	write(t, filepath.Join(root, "hack", "tiny", "dep", "dep.go"), "package dep\n\nvar Version string\n")
	write(t, main, "package main\n\nimport \"example.com/dep\"\n\nfunc main() { print(dep.Version) }\n")
	p := Program{
		Name: "tiny", Dir: "hack/tiny", Links: []string{"small"}, Disk: 1,
		VersionOf: "example.com/dep", Stamp: map[string]string{"example.com/dep.Version": "{version}/{major}/{minor}"},
	}
	var out bytes.Buffer
	b := Builder{Root: root, Out: &out, Now: time.Now}

	if err := b.Build(context.Background(), p); err != nil {
		t.Fatalf("first build: %v", err)
	}
	printed, err := exec.Command(filepath.Join(root, ".dev", "bin", "small")).CombinedOutput()
	if err != nil || string(printed) != "v1.2.3/1/2" {
		t.Errorf("the program, by its other name, printed %q (%v)", printed, err)
	}
	if !strings.Contains(out.String(), "built in") {
		t.Errorf("the build didn't say so:\n%s", out.String())
	}

	out.Reset()
	if err := b.Build(context.Background(), p); err != nil || out.String() != "tiny (v1.2.3) is up to date\n" {
		t.Errorf("a second build printed %q (%v)", out.String(), err)
	}

	rebuilt := func(reason string) {
		t.Helper()
		out.Reset()
		if err := b.Build(context.Background(), p); err != nil || !strings.Contains(out.String(), "built in") {
			t.Errorf("%s, and the build printed %q (%v)", reason, out.String(), err)
		}
	}
	write(t, filepath.Join(root, "hack", "tiny", "dep", "dep.go"), "package dep\n\n// Another.\nvar Version string\n")
	rebuilt("a file in a folder of the module has changed")
	p.Env = []string{"CGO_ENABLED=0"}
	rebuilt("the compiler's environment has changed")
	write(t, filepath.Join(root, "hack", "tiny", "dep", "dep_test.go"), "package dep\n")
	if out.Reset(); b.Build(context.Background(), p) != nil || out.String() != "tiny (v1.2.3) is up to date\n" {
		t.Errorf("a test was added, and the build printed %q", out.String())
	}

	write(t, main, "package main\n\nfunc main() { nonsense }\n")
	err = b.Build(context.Background(), p)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("a program that doesn't compile: %v, want the compiler's words", err)
	}
	if _, err := os.Stat(filepath.Join(root, ".dev", "bin", "tiny")); err != nil {
		t.Errorf("a failed build took the working program away: %v", err)
	}
}

func TestProgress(t *testing.T) {
	now := time.Unix(0, 0)
	var out bytes.Buffer
	p := newProgress(&out, 40, func() time.Time { return now })
	for n := range 40 {
		now = now.Add(2 * time.Second)
		if n == 20 {
			now = now.Add(time.Minute) // one slow package
		}
		p.compiled("example.com/p")
	}
	want := []string{
		"  5 %  2 of 40 packages  4s  example.com/p",
		" 10 %  4 of 40 packages  8s  example.com/p",
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if diff := cmp.Diff(want, lines[:2]); diff != "" {
		t.Errorf("the first lines (-want +got):\n%s", diff)
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "100 %  40 of 40 packages  2m20s  linking") {
		t.Errorf("the last line is %q, want the linking", last)
	}
	if len(lines) > 21 {
		t.Errorf("%d lines for a file, want at most one a twentieth", len(lines))
	}
}

func TestModuleVersion(t *testing.T) {
	tests := map[string]struct {
		reason string
		gomod  string
		want   string
		err    string
	}{
		"Block":  {"Required among others.", "module m\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/dep v1.2.3 // indirect\n)\n", "v1.2.3", ""},
		"Single": {"Required alone.", "module m\n\nrequire example.com/dep v1.2.3\n", "v1.2.3", ""},
		"Longer": {"A module whose name only begins the same is another.", "module m\n\nrequire example.com/dep/v2 v2.0.0\n", "", "requires no example.com/dep"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), tc.gomod)
			got, err := moduleVersion(dir, "example.com/dep")
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s\ngot %q, %v; want %q, %q", tc.reason, got, err, tc.want, tc.err)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		reason string
		output string
		want   string
	}{
		"Disk":    {"A full disk has a way out.", "write x: no space left on device", "make room on the disk"},
		"Memory":  {"The linker is what gets killed for lack of memory.", "link: signal: killed", "3 GB of free memory"},
		"Network": {"Modules come from a registry.", "dial tcp: lookup x: no such host", "check the network and GOPROXY"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := explain(errors.New("exit status 1"), []string{tc.output}).Error(); !strings.Contains(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q in it", tc.reason, got, tc.want)
			}
		})
	}
}

func TestMissingTools(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal("go is not in PATH: install Go 1.26 or later")
	}
	only := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.Symlink(goTool, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	tests := map[string]struct {
		reason string
		path   string
		want   string
	}{
		"Nothing":    {"Without Go nothing can be said about the rest.", only(), "install Go 1.26 or later"},
		"NoCompiler": {"A C compiler is part of a bare machine.", only("go"), "gcc is not in PATH"},
		"NoGit":      {"So is git.", only("go", "gcc"), "git is not in PATH"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", tc.path)
			t.Setenv("CC", "gcc")
			if _, err := findToolchain(context.Background(), "."); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestCheckDisk(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "not", "there", "yet")
	if err := checkDisk(1, missing); err != nil {
		t.Errorf("one byte doesn't fit on the disk: %v", err)
	}
	err := checkDisk(1<<62, missing)
	if err == nil || !strings.Contains(err.Error(), "GOCACHE") {
		t.Errorf("what fits on no disk: %v, want the way out", err)
	}
}

func TestChoose(t *testing.T) {
	cases := map[string]struct {
		reason, wantErr string
		names, want     []string
	}{
		"no names":     {reason: "a kubelet needs root and a container engine", want: []string{"controlplane", "tofu", "node"}},
		"an extra one": {reason: "whoever names it wants it, and nothing else", names: []string{"kubelet"}, want: []string{"kubelet"}},
		"several":      {reason: "they are built in the table's order", names: []string{"tofu", "controlplane"}, want: []string{"controlplane", "tofu"}},
		"unknown": {
			reason: "building nothing would look like success", names: []string{"kublet"},
			wantErr: `the stack has no program "kublet" to compile: choose of controlplane, tofu, node, kubelet`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			programs, err := Choose(c.names)
			var got []string
			for _, p := range programs {
				got = append(got, p.Name)
			}
			if (err == nil) != (c.wantErr == "") || err != nil && err.Error() != c.wantErr {
				t.Errorf("%s: got error %v, want %q", c.reason, err, c.wantErr)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// The kubelet is a module of its own, so that a change to it links no control plane anew. It must stay the control plane's.
func TestKubeletIsOfTheControlPlanesVersion(t *testing.T) {
	versions := map[string]string{}
	for _, p := range Programs() {
		if p.VersionOf != "k8s.io/kubernetes" {
			continue
		}
		version, err := moduleVersion(filepath.Join("..", "..", "..", p.Dir), p.VersionOf)
		if err != nil {
			t.Fatal(err)
		}
		versions[p.Name] = version
	}
	if len(versions) != 2 || versions["kubelet"] != versions["controlplane"] {
		t.Errorf("programs of Kubernetes are of the versions %v, want kubelet and controlplane of one", versions)
	}
}
