// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// published puts a release of example.com/tiny into a module proxy of the test's own, and returns its sum.
func published(t *testing.T) string {
	t.Helper()
	const gomod = "module example.com/tiny\n\ngo 1.26\n"
	proxy := t.TempDir()
	versions := filepath.Join(proxy, "example.com", "tiny", "@v")
	write(t, filepath.Join(versions, "v1.2.3.info"), `{"Version":"v1.2.3"}`)
	write(t, filepath.Join(versions, "v1.2.3.mod"), gomod)
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, text := range map[string]string{
		"go.mod":           gomod,
		"cmd/tiny/main.go": "package main\n\nvar version = \"unknown\"\n\nfunc main() { print(version) }\n",
	} {
		w, err := z.Create("example.com/tiny@v1.2.3/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(versions, "v1.2.3.zip"), packed.String())

	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GONOSUMDB", "example.com/*")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw") // so that the test can clear it away
	cmd := exec.Command("go", "mod", "download", "-json", "example.com/tiny@v1.2.3")
	cmd.Dir = proxy
	out, err := cmd.Output()
	var found struct{ Sum string }
	if err != nil || json.Unmarshal(out, &found) != nil || found.Sum == "" {
		t.Fatalf("the test's own proxy: %v\n%s", err, out)
	}
	return found.Sum
}

// Programs of others are built in their own module, and only the code that was pinned.
func TestBuildRelease(t *testing.T) {
	sum := published(t)
	root := t.TempDir()
	var out bytes.Buffer
	b := Builder{Root: root, Out: &out, Now: time.Now}
	p := Program{
		Name: "tiny", Disk: 1, Stamp: map[string]string{"main.version": "{version}"},
		Release: &Release{Module: "example.com/tiny", Version: "v1.2.3", Sum: "h1:another=", Package: "./cmd/tiny"},
	}
	err := b.Build(context.Background(), p)
	if err == nil || !strings.Contains(err.Error(), sum) || !strings.Contains(err.Error(), "h1:another=") {
		t.Errorf("code that is not the pinned one: %v, want both sums", err)
	}
	if _, err := os.Stat(filepath.Join(root, ".dev", "bin", "tiny")); err == nil {
		t.Error("code that is not the pinned one was built")
	}

	p.Release.Sum = sum
	if err := b.Build(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	printed, err := exec.Command(filepath.Join(root, ".dev", "bin", "tiny")).CombinedOutput()
	if err != nil || string(printed) != "v1.2.3" {
		t.Errorf("the program printed %q (%v)", printed, err)
	}
	out.Reset()
	if err := b.Build(context.Background(), p); err != nil || out.String() != "tiny (v1.2.3) is up to date\n" {
		t.Errorf("a second build printed %q (%v)", out.String(), err)
	}

	p.Release.Version = "v9.9.9"
	if err := b.Build(context.Background(), p); err == nil || !strings.Contains(err.Error(), "example.com/tiny@v9.9.9") {
		t.Errorf("a version that is not there: %v, want its name", err)
	}
}
