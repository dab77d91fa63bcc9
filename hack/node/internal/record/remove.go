// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes a folder and all in it, folders that forbid it included.
func Remove(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	// Only root may remove from a folder without its write bit, and a program
	// may have left such a folder.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(path, 0o700) // it is about to go
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing what a container left: %w", err)
	}
	return nil
}

// RemoveScratch removes the root folders of a pod's containers.
func (f Folder) RemoveScratch() error { return Remove(f.path("containers")) }

// Remove removes all that is left of a pod. A folder that is gone is fine. It
// is moved away first, so that nobody takes half a folder for a pod.
func (f Folder) Remove() error {
	gone := filepath.Join(filepath.Dir(filepath.Dir(string(f))), "gone", filepath.Base(string(f)))
	if err := os.MkdirAll(filepath.Dir(gone), 0o700); err != nil {
		return fmt.Errorf("making the folder for what is removed: %w", err)
	}
	if err := os.Rename(string(f), gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("moving a pod's folder away: %w", err)
	}
	return Remove(gone)
}

// Sweep removes what a Remove that was killed has left.
func Sweep(root string) error { return Remove(filepath.Join(root, "gone")) }
