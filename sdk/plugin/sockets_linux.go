// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFolder locks a folder that is ours until the file is closed, also by the end of the process. It is an error if it is not
// ours, or if somebody holds the lock and wait is false.
func lockFolder(path string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the folder: %w", err)
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	if err := ownFolder(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking the folder: %w", err)
	}
	return f, nil
}

func ownFolder(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("looking at the folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return errors.New("the folder belongs to somebody else")
	}
	return nil
}
