// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"syscall"
)

// exitWords says how a process ended, and nothing that it printed: once it has answered calls, that may be about any of them, and how it
// ended is told to all.
func exitWords(state *os.ProcessState) string {
	if state == nil {
		return "ended, and nobody could tell how"
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("was killed by signal %d", int(status.Signal()))
	}
	return fmt.Sprintf("exited with code %d", state.ExitCode())
}

// withLine adds the last line that a process printed before it had been called at all.
func withLine(words, last string) string {
	if last == "" {
		return words
	}
	return words + ": " + quote(last)
}
