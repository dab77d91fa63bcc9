// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	table := Table{{Image: "a.example:5000/x"}, {Image: "a.example:5000/x:v1", User: 7}, {Image: "tool@sha256:00", User: 8}}
	cases := map[string]struct {
		reason string
		name   string
		want   int64
		err    string
	}{
		"Exact":    {reason: "the row with the tag wins", name: "a.example:5000/x:v1", want: 7},
		"OtherTag": {reason: "a row without a tag stands for all", name: "a.example:5000/x:v2@sha256:11"},
		"NoTag":    {reason: "a port is no tag", name: "a.example:5000/x"},
		"Digest":   {reason: "a digest is part of an exact name", name: "tool@sha256:00", want: 8},
		"Missing":  {reason: "the error names the image and the way out", name: "tool:v1", err: `image "tool:v1" is not in this node's table of images: add it to the file that --images names`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := table.Find(tc.name)
			if err != nil && err.Error() != tc.err || err == nil && tc.err != "" || got.User != tc.want {
				t.Errorf("%s: got %+v, %v", tc.reason, got, err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   Table
		err    string
	}{
		"Relative":     {reason: "relative files are below the table's folder", text: "images: [{image: a, files: {/bin/a: bin/a, /b: /b}}]", want: Table{{Image: "a", Files: map[string]string{"/bin/a": "DIR/bin/a", "/b": "/b"}}}},
		"Unnamed":      {reason: "a row needs a name", text: "images: [{user: 3}]", err: "images[0]"},
		"Inside":       {reason: "paths in the container are absolute", text: "images: [{image: a, files: {bin/a: /b}}]", err: `"bin/a" is not an absolute path`},
		"UnknownField": {reason: "a misspelt field is not silently dropped", text: "images: [{image: a, comand: [x]}]", err: "comand"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "images.yaml")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: got %v", tc.reason, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range got {
				for inside, outside := range i.Files {
					i.Files[inside] = strings.Replace(outside, dir, "DIR", 1)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
