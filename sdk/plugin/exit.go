// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"syscall"
)

// exitWords says how a process ended, with the last that it said where that helps.
func exitWords(state *os.ProcessState, last string) string {
	words := "ended, and nobody could tell how"
	if state != nil {
		words = fmt.Sprintf("exited with code %d", state.ExitCode())
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			words = fmt.Sprintf("was killed by signal %d", int(status.Signal()))
		}
	}
	if last == "" {
		return words
	}
	return words + ": " + quote(last)
}
