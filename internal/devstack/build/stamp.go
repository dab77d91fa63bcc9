// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// stampOf is a digest of all that a program is made from: the files of its
// module, the flags, the compiler's environment and the toolchain. Its dependencies are in go.sum.
func stampOf(code source, flags, env []string, t toolchain) (string, error) {
	var all strings.Builder
	fmt.Fprintf(&all, "%s %s %q", t.GOVERSION, t.GOARCH, flags)
	if len(env) > 0 {
		fmt.Fprintf(&all, " %q", env)
	}
	fmt.Fprintln(&all)
	if code.pin != "" {
		fmt.Fprintln(&all, code.pin, code.pkg)
		return digest(all.String()), nil
	}
	// In the order of their names, so that the same files give the same digest.
	err := fs.WalkDir(os.DirFS(code.dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !compiled(name) {
			return err
		}
		data, err := os.ReadFile(filepath.Join(code.dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %x\n", name, sha256.Sum256(data))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the module: %w", err)
	}
	return digest(all.String()), nil
}

// compiled says whether a file of a module can change the program.
func compiled(name string) bool {
	base := path.Base(name)
	return base == "go.mod" || base == "go.sum" || strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go")
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// upToDate says whether the binary is there and was made from the same.
func upToDate(binary, stamp string) bool {
	if _, err := os.Stat(binary); err != nil {
		return false
	}
	was, err := os.ReadFile(binary + ".stamp")
	return err == nil && strings.TrimSpace(string(was)) == stamp
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
