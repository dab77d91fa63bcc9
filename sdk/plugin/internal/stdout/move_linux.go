// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stdout

import "syscall"

// move copies standard output to a file descriptor that no child inherits, and puts standard error in its place. Where that
// fails nothing is moved: the plugin can still be used as long as nothing prints.
func move() int {
	// The copy stays clear of the first ten, which hosts use for what they pass on.
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(syscall.Stdout), syscall.F_DUPFD_CLOEXEC, 10)
	if errno != 0 {
		return None
	}
	if err := syscall.Dup3(syscall.Stderr, syscall.Stdout, 0); err != nil {
		_ = syscall.Close(int(fd))
		return None
	}
	return int(fd)
}
