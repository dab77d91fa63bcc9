// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/hack/realnode/internal/archive"
)

func describe(t *testing.T, files []archive.File) []string {
	t.Helper()
	var all []string
	for _, f := range files {
		if f.Folder {
			all = append(all, fmt.Sprintf("%o %s/", f.Mode, f.Path))
			continue
		}
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		_ = in.Close()
		if err != nil || int64(len(content)) != f.Size {
			t.Errorf("%s: read %d bytes with error %v, said to have %d", f.Path, len(content), err, f.Size)
		}
		all = append(all, fmt.Sprintf("%o %s %q", f.Mode, f.Path, content))
	}
	return all
}

func TestGather(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"plugins/fake": "a plugin", "plugins/more/eks": "another", "tool": "a tool", "empty": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("tool", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason  string
		paths   map[string]string
		want    []string
		wantErr string
	}{
		"nothing": {reason: "programs expect a folder for temporary files", want: []string{"1777 /tmp/"}},
		"folder": {
			reason: "the plugins are named by their folder",
			paths:  map[string]string{"/lib/plugins": "plugins"},
			want:   []string{"755 /lib/plugins/", `750 /lib/plugins/fake "a plugin"`, "755 /lib/plugins/more/", `750 /lib/plugins/more/eks "another"`, "1777 /tmp/"},
		},
		"link": {
			reason: "what a link points at is elsewhere in the image, or nowhere",
			paths:  map[string]string{"/bin/tool/": "link"},
			want:   []string{`750 /bin/tool "a tool"`, "1777 /tmp/"},
		},
		"empty file": {reason: "it is no program, and no reason to fail", paths: map[string]string{"/e": "empty"}, want: []string{`750 /e ""`, "1777 /tmp/"}},
		"missing":    {reason: "the way out is to compile it", paths: map[string]string{"/bin/tofu": "tofu"}, wantErr: "is not there: run make stack build"},
		"device":     {reason: "an image can't hold it, and reading it never ends", paths: map[string]string{"/z": "/dev/zero"}, wantErr: "/dev/zero is neither a file nor a folder"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for inside, outside := range c.paths {
				if !filepath.IsAbs(outside) {
					c.paths[inside] = filepath.Join(dir, outside)
				}
			}
			found, err := Gather(c.paths)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("%s: got error %v, want %q", c.reason, err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describe(t, found)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// A program that is linked with libraries must find them in an image that has nothing else.
func TestLibrariesComeAlong(t *testing.T) {
	const shell = "/bin/sh"
	found, err := Gather(map[string]string{shell: shell})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, filepath.Base(f.Path))
	}
	hasLoader := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "ld-") })
	if !hasLoader || !slices.Contains(names, "libc.so.6") {
		t.Errorf("an image of %s has %v: neither the loader nor the C library may be missing", shell, names)
	}
}
