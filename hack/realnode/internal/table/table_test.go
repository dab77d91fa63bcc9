// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	cases := map[string]struct {
		reason, text string
		want         []Image
		wantErr      string
	}{
		"all fields": {
			reason: "the process node's table must be this node's too",
			text: `images:
- image: tool:dev
  files: {/bin/tool: tool, /bin/other: /usr/bin/other}
  command: [tool]
  args: [run]
  env: [A=b]
  user: 65532
  workingDir: /work
`,
			want: []Image{{
				Image: "tool:dev", Files: map[string]string{"/bin/tool": filepath.Join(dir, "tool"), "/bin/other": "/usr/bin/other"},
				Command: []string{"tool"}, Args: []string{"run"}, Env: []string{"A=b"}, User: 65532, WorkingDir: "/work",
			}},
		},
		"no name":       {reason: "nothing could ask for it", text: "images: [{files: {}}]", wantErr: "image is empty: name the image"},
		"relative path": {reason: "it would be below nothing", text: "images: [{image: a, files: {bin: b}}]", wantErr: `files: "bin" is not an absolute path`},
		"unknown field": {reason: "a typing error would else be a file that is missing later", text: "images: [{image: a, file: {}}]", wantErr: "unknown field"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "images.yaml")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("%s: got error %v, want %q", c.reason, err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestReference(t *testing.T) {
	cases := map[string]struct {
		reason, name, lookup, archive string
		wantErr                       bool
	}{
		"tag":            {reason: "the usual", name: "tool:dev", lookup: "tool:dev", archive: "tool:dev"},
		"nothing":        {reason: "engines take it for latest", name: "tool", lookup: "tool:latest", archive: "tool:latest"},
		"port":           {reason: "a colon before a slash is no tag", name: "127.0.0.1:5000/tool", lookup: "127.0.0.1:5000/tool:latest", archive: "127.0.0.1:5000/tool:latest"},
		"tag and digest": {reason: "an engine drops the tag then", name: "a/tool:1.2@sha256:00", lookup: "a/tool@sha256:00", archive: "a/tool:1.2"},
		"digest":         {reason: "an archive needs some tag", name: "a/tool@sha256:00", lookup: "a/tool@sha256:00", archive: "a/tool:latest"},
		"empty tag":      {reason: "no engine takes it", name: "tool:", wantErr: true},
		"empty digest":   {reason: "no engine takes it", name: "tool:1@", wantErr: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			lookup, archive, err := Image{Image: c.name}.Reference()
			if lookup != c.lookup || archive != c.archive || (err != nil) != c.wantErr {
				t.Errorf("%s: got %q, %q, %v", c.reason, lookup, archive, err)
			}
		})
	}
}
