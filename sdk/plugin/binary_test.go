// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

func TestBinaryIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		reason            string
		do                func(path string) error
		changed, replaced bool
	}{
		"nothing": {reason: "it is as it was", do: func(string) error { return nil }},
		"another name": {
			reason: "the content is the same, although the time of the file's state is not", do: func(path string) error { return os.Link(path, path+"2") },
		},
		"in place": {
			reason: "the open file itself is another one now", changed: true, replaced: true,
			do: func(path string) error { return os.WriteFile(path, []byte("other!"), 0o755) },
		},
		"by another": {
			reason: "what is executed is still the pinned one, and the next start would not be", replaced: true,
			do: func(path string) error {
				if err := os.WriteFile(path+"2", []byte("other!"), 0o755); err != nil {
					return err
				}
				return os.Rename(path+"2", path)
			},
		},
		"by its equal": {
			reason: "the same version was installed again",
			do: func(path string) error {
				if err := os.WriteFile(path+"2", []byte("binary"), 0o755); err != nil {
					return err
				}
				return os.Rename(path+"2", path)
			},
		},
		"removed": {reason: "the pinned one was executed", do: os.Remove},
	} {
		path := filepath.Join(t.TempDir(), "eks")
		if err := os.WriteFile(path, []byte("binary"), 0o755); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte("binary"))
		b, failed := Launch{Path: path, SHA256: hex.EncodeToString(sum[:])}.open()
		if failed != nil {
			t.Fatal(failed)
		}
		if err := c.do(path); err != nil {
			t.Fatal(err)
		}
		if b.changed() != c.changed || b.replaced() != c.replaced {
			t.Errorf("%s: changed %v, replaced %v, want %v and %v: %s", name, b.changed(), b.replaced(), c.changed, c.replaced, c.reason)
		}
		b.close()
	}
}
