// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"darkshift.io/infrared/internal/devstack/folder"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := folder.TryLock(path)
	if err != nil {
		t.Fatalf("TryLock: %v", err)
	}
	if _, err := folder.TryLock(path); !errors.Is(err, folder.ErrLocked) {
		t.Fatalf("a second TryLock: %v, want ErrLocked", err)
	}
	got := make(chan error, 1)
	go func() {
		second, err := folder.Lock(path)
		if err == nil {
			// Whoever holds the lock holds the one that others will try.
			if _, err = folder.TryLock(path); !errors.Is(err, folder.ErrLocked) {
				err = errors.Join(errors.New("a lock that keeps nobody out"), err)
			} else {
				err = nil
			}
			_ = second.Close()
		}
		got <- err
	}()
	// What Purge does: the file goes while somebody waits for it.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestWriteFileIsPrivateAndWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"first", "second"} {
		if err := folder.WriteFile(path, []byte(text)); err != nil {
			t.Fatalf("WriteFile: %v", err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "second" {
		t.Errorf("the file holds %q (%v)", data, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("something was left beside it: %v", entries)
	}
}
