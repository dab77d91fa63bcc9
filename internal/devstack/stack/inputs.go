// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// manifestPaths are the manifests that go onto the management control plane,
// below the repository's deploy folder, in the order in which they are applied.
func manifestPaths() []string {
	return []string{"namespaces.yaml", "crds", "rbac", "admission", "build"}
}

// manifests lists those of manifestPaths that exist and hold something.
func (s *Stack) manifests() ([]string, error) {
	if s.Repo == "" {
		return nil, nil
	}
	var found []string
	for _, name := range manifestPaths() {
		path := filepath.Join(s.Repo, "deploy", name)
		files, err := manifestFiles(path)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			found = append(found, path)
		}
	}
	return found, nil
}

// manifestFiles lists the files that kubectl apply -f path reads.
func manifestFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for manifests: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("looking for manifests: %w", err)
	}
	var files []string
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".yaml", ".yml", ".json":
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files, nil
}

// program is the path of one of the project's own programs.
func (s *Stack) program(name string) string {
	return filepath.Join(s.Repo, ".dev", programs, name)
}

// pluginFolder holds the provider plugins that make build compiles.
func (s *Stack) pluginFolder() string { return s.program("plugins") }

// fileIdentity changes when a file is replaced or rewritten; "" when there is none.
func fileIdentity(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("%d/%d", info.ModTime().UnixNano(), info.Size())
}
