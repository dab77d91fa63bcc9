// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"syscall"
)

// settleIn undoes what shows that a host executed this plugin through a descriptor. What fails here is only about looks.
func settleIn() {
	// The system names a process after what was executed, which was a number.
	if comm, err := os.OpenFile("/proc/self/comm", os.O_WRONLY, 0); err == nil {
		_, _ = comm.WriteString(filepath.Base(os.Args[0]))
		_ = comm.Close()
	}
	// What the plugin starts has no use for the plugin's binary. Another host may have passed something else under this number.
	var given, own syscall.Stat_t
	if syscall.Fstat(binaryFD, &given) == nil && syscall.Stat("/proc/self/exe", &own) == nil && given.Dev == own.Dev && given.Ino == own.Ino {
		syscall.CloseOnExec(binaryFD)
	}
}
