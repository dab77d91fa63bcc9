// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"runtime/debug"

	"darkshift.io/infrared/sdk/provider"
)

// guard runs a verb and turns a panic of it into an error; the stack goes to log. Only the verb's own goroutine is guarded:
// a panic in another one ends the program.
func guard[A any](log io.Writer, verb string, run func() (A, error)) (result A, err error) {
	defer func() {
		if value := recover(); value != nil {
			fmt.Fprintf(log, "panic in %s: %v\n\n%s\n", verb, value, debug.Stack())
			// What was panicked with may hold anything, so the host is not told.
			err = provider.Errorf(provider.Other, "the provider crashed in %s; its log has the stack", verb)
		}
	}()
	return run()
}
