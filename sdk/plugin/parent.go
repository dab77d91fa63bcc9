// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
)

// watchParent returns a channel that is closed when the host is gone. The host holds the other end of a pipe, which the
// kernel closes however the host ends. Asking for the parent's process ID would not do: the host may be any process, 1
// included. A host that passes no pipe is not watched, and the channel is nil.
func watchParent() (<-chan struct{}, error) {
	text, given := os.LookupEnv(EnvParent)
	if !given {
		return nil, nil
	}
	// What the plugin starts has nothing to do with its host.
	_ = os.Unsetenv(EnvParent)
	fd, err := strconv.Atoi(text)
	if err != nil || fd <= syscall.Stderr {
		return nil, fmt.Errorf("%s is %q: it must be the number of an open pipe that the host holds the other end of", EnvParent, text)
	}
	syscall.CloseOnExec(fd)
	pipe := os.NewFile(uintptr(fd), "parent")
	if _, err := pipe.Stat(); err != nil {
		return nil, fmt.Errorf("%s is %d, which is not open: the host must pass that pipe on: %w", EnvParent, fd, err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, pipe)
	}()
	return gone, nil
}
