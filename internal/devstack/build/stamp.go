// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stampOf is a digest of all that a program is made from: the files of its
// module, the flags and the toolchain. Its dependencies are in go.sum.
func stampOf(code source, flags []string, t toolchain) (string, error) {
	if code.pin != "" {
		return digest(fmt.Sprintf("%s %s %q\n%s %s\n", t.GOVERSION, t.GOARCH, flags, code.pin, code.pkg)), nil
	}
	dir := code.dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("listing the module: %w", err)
	}
	var all strings.Builder
	fmt.Fprintf(&all, "%s %s %q\n", t.GOVERSION, t.GOARCH, flags)
	for _, e := range entries {
		name := e.Name()
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if !source && name != "go.mod" && name != "go.sum" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("reading the module: %w", err)
		}
		fmt.Fprintf(&all, "%s %x\n", name, sha256.Sum256(data))
	}
	return digest(all.String()), nil
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
