// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read is what a program sees in a volume.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if len(e.Name()) > 1 && e.Name()[:2] == ".." {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			for name, text := range read(t, path) {
				got[e.Name()+"/"+name] = text
			}
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = info.Mode().Perm().String() + " " + string(data)
	}
	return got
}

func TestReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "v")
	steps := []struct {
		reason string
		files  map[string]file
		want   map[string]string
	}{
		{"files and folders appear", map[string]file{"a": {[]byte("1"), 0o644}, "sub/b": {[]byte("2"), 0o400}, ".hidden": {nil, 0o644}},
			map[string]string{"a": "-rw-r--r-- 1", "sub/b": "-r-------- 2", ".hidden": "-rw-r--r-- "}},
		{"content changes, names come and go", map[string]file{"a": {[]byte("new"), 0o600}, "c": {[]byte("3"), 0o644}},
			map[string]string{"a": "-rw------- new", "c": "-rw-r--r-- 3"}},
		{"a folder takes a file's name", map[string]file{"a/x": {[]byte("4"), 0o644}}, map[string]string{"a/x": "-rw-r--r-- 4"}},
		{"nothing is left", nil, map[string]string{}},
	}
	for _, step := range steps {
		if err := replace(dir, step.files, -1); err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if diff := cmp.Diff(step.want, read(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "..next-*")); len(found) != 1 {
			t.Errorf("%s: %d folders of content, want the current one", step.reason, len(found))
		}
	}
}

func TestReplaceLeavesAloneWhatIsRight(t *testing.T) {
	dir := t.TempDir()
	files := map[string]file{"a": {[]byte("1"), 0o644}}
	if err := replace(dir, files, -1); err != nil {
		t.Fatal(err)
	}
	before, err := os.Readlink(filepath.Join(dir, current))
	if err != nil {
		t.Fatal(err)
	}
	if err := replace(dir, files, -1); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Readlink(filepath.Join(dir, current)); err != nil || after != before {
		t.Errorf("the content moved from %s to %s, %v, though nothing had changed", before, after, err)
	}
}

func TestNamesStayInside(t *testing.T) {
	for _, name := range []string{"../x", "/x", "..data", "a/../../x"} {
		if err := checkNames(map[string]file{name: {}}); err == nil {
			t.Errorf("the path %q was taken", name)
		}
	}
}
