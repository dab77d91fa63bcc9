// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file anew")

func text(path, content string) File {
	return File{
		Path: path, Mode: 0o755, Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil },
	}
}

func example() Image {
	return Image{
		Name: "infrared-example:dev", Arch: "amd64",
		Files: []File{
			text("/usr/local/lib/infrared/plugins/fake", "a plugin"), text("/usr/local/bin/infrared-build", "a program"),
			{Path: "/tmp", Mode: 0o1777, Folder: true},
		},
		Entrypoint: []string{"/usr/local/bin/infrared-build"}, Cmd: []string{"run"}, Env: []string{"PATH=/usr/local/bin"}, User: "65532", WorkingDir: "/tmp",
	}
}

// describe lists an archive as text: each member's header and, but for the layer, its content.
func describe(t *testing.T, data []byte) string {
	t.Helper()
	var out strings.Builder
	for in := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%c %04o %d:%d %s %d bytes\n", h.Typeflag, h.Mode, h.Uid, h.Gid, h.Name, h.Size)
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case h.Name == "layer.tar":
			out.WriteString(indent(describe(t, content)))
			fmt.Fprintf(&out, "  sha256:%x\n", sha256.Sum256(content))
		case h.Typeflag == tar.TypeReg:
			out.WriteString(indent(string(content) + "\n"))
		}
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

func TestArchiveIsGolden(t *testing.T) {
	var out, again bytes.Buffer
	for _, to := range []io.Writer{&out, &again} {
		if err := Write(to, example()); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the same files gave two different archives")
	}
	got, golden := describe(t, out.Bytes()), filepath.Join("testdata", "example.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the archive changed; where that is meant, run the test with -update (-golden +now):\n%s", diff)
	}
}

// An engine refuses a layer whose digest is not the one that the configuration names.
func TestConfigNamesTheLayer(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, example()); err != nil {
		t.Fatal(err)
	}
	var settings config
	var layer string
	in := tar.NewReader(&out)
	for h, err := in.Next(); err == nil; h, err = in.Next() {
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		switch h.Name {
		case "config.json":
			if err := json.Unmarshal(content, &settings); err != nil {
				t.Fatal(err)
			}
		case "layer.tar":
			layer = fmt.Sprintf("sha256:%x", sha256.Sum256(content))
		}
	}
	if diff := cmp.Diff([]string{layer}, settings.RootFS.DiffIDs); diff != "" {
		t.Errorf("digests (-layer +named):\n%s", diff)
	}
}

func TestBadFiles(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  []File
		want   string
	}{
		"relative": {
			reason: "a path is where the file will be, not where it is found",
			files:  []File{text("bin/tofu", "")}, want: `writing image "x:dev": "bin/tofu" is not a clean absolute path`,
		},
		"upwards": {
			reason: "an engine may refuse it, or write outside the image",
			files:  []File{text("/../tofu", "")}, want: `writing image "x:dev": "/../tofu" is not a clean absolute path`,
		},
		"twice": {
			reason: "one of the two would silently win",
			files:  []File{text("/tofu", "a"), text("/tofu", "b")}, want: `writing image "x:dev": /tofu is there twice, or both a file and a folder`,
		},
		"shorter than said": {
			reason: "a file that changed meanwhile must not shift what comes after it",
			files:  []File{{Path: "/a", Size: 10, Open: text("/a", "short").Open}}, want: `writing image "x:dev": adding /a: EOF`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := Write(io.Discard, Image{Name: "x:dev", Arch: "amd64", Files: c.files})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
