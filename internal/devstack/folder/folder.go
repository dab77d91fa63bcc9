// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package folder keeps data folders safe: nobody else's files are touched, two
// processes never use one at a time, and no file is ever seen half written.
//
// A folder is ours when it holds a mark, a file of a known name that is written when the
// folder is made. A lock is the kernel's (flock): it is gone with the process
// that held it, so a stale one can't exist.
package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// ErrLocked is what TryLock wraps when another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// CheckOurs refuses a folder that holds files but not the mark. A folder that
// doesn't exist, is empty, or holds nothing but the names in early, is fine:
// those are what is made before the mark.
func CheckOurs(dir, mark string, early ...string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return wayOut(fmt.Errorf("the data folder can't be used: %w", err))
	}
	foreign := ""
	for _, e := range entries {
		if e.Name() == mark {
			return nil
		}
		if foreign == "" && !slices.Contains(early, e.Name()) {
			foreign = e.Name()
		}
	}
	if foreign != "" {
		return fmt.Errorf("the folder %s holds files that are not ours, such as %q: name another with --data, or empty it", dir, foreign)
	}
	return nil
}

// Make makes a private folder and its parents.
func Make(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return wayOut(fmt.Errorf("the data folder can't be made: %w", err))
	}
	return nil
}

// TryLock takes the lock file at path, or fails at once with ErrLocked. Close
// the file to give the lock back.
func TryLock(path string) (*os.File, error) {
	return lock(path, syscall.LOCK_EX|syscall.LOCK_NB)
}

// Lock takes the lock file at path, and waits for whoever has it.
func Lock(path string) (*os.File, error) {
	return lock(path, syscall.LOCK_EX)
}

// lock tries again where the file was removed while we waited for it: a lock on
// a removed file keeps nobody out.
func lock(path string, how int) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, wayOut(fmt.Errorf("opening the lock of the data folder: %w", err))
		}
		if err := flock(f, how); err != nil {
			_ = f.Close()
			return nil, err
		}
		if current(f, path) {
			return f, nil
		}
		_ = f.Close()
	}
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("%s is %w", filepath.Base(f.Name()), ErrLocked)
		default:
			return fmt.Errorf("locking %s: %w", f.Name(), err)
		}
	}
}

// current says whether path still names the open file.
func current(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

// WriteFile replaces a private file as a whole.
func WriteFile(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return wayOut(fmt.Errorf("writing %s: %w", path, err))
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// wayOut says what helps where the folder itself is the trouble.
func wayOut(err error) error {
	switch {
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: name a folder that you may write to with --data", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: make room on the disk", err)
	}
	return err
}
