// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// current is the link to the folder that holds the files of now.
const current = "..data"

// replace makes dir hold exactly these files, all at once. It leaves alone what
// is right already, so that nobody who watches is woken for nothing.
func replace(dir string, files map[string]file, group int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	if same(filepath.Join(dir, current), files) {
		return tidy(dir, files) // whoever made them may have been killed before it was done
	}
	next, err := os.MkdirTemp(dir, "..next-")
	if err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	if err := os.Chmod(next, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	for name, f := range files {
		if err := write(filepath.Join(next, name), f, group); err != nil {
			return err
		}
	}
	link := filepath.Join(dir, "..data-next")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing the files: %w", err)
	}
	if err := os.Symlink(filepath.Base(next), link); err != nil {
		return fmt.Errorf("replacing the files: %w", err)
	}
	if err := os.Rename(link, filepath.Join(dir, current)); err != nil {
		return fmt.Errorf("replacing the files: %w", err)
	}
	return tidy(dir, files)
}

func write(path string, f file, group int) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	if err := os.WriteFile(path, f.data, 0o600); err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	mode := f.mode
	if group >= 0 {
		mode |= 0o440
		if err := os.Chown(path, -1, group); err != nil {
			return fmt.Errorf("giving a file to group %d: %w", group, err)
		}
	}
	if err := os.Chmod(path, mode); err != nil {
		return fmt.Errorf("setting a file's mode: %w", err)
	}
	return nil
}

// same says whether the folder holds exactly these contents.
func same(dir string, files map[string]file) bool {
	found := 0
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, ok := files[name]
		if !ok || !bytes.Equal(data, f.data) {
			return errors.New("differs")
		}
		found++
		return nil
	})
	return err == nil && found == len(files)
}

// tidy makes the names that programs see, and removes what is not of now: names
// that are gone, and files of before.
func tidy(dir string, files map[string]file) error {
	now, err := os.Readlink(filepath.Join(dir, current))
	if err != nil {
		return fmt.Errorf("finding the files of now: %w", err)
	}
	wanted := map[string]bool{}
	for name := range files {
		first, _, _ := strings.Cut(name, "/")
		wanted[first] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing the volume: %w", err)
	}
	for _, e := range entries {
		if e.Name() == current || e.Name() == now {
			continue
		}
		if wanted[e.Name()] {
			delete(wanted, e.Name())
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("removing what is not of now: %w", err)
		}
	}
	for name := range wanted {
		if err := os.Symlink(filepath.Join(current, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("linking a file: %w", err)
		}
	}
	return nil
}
