// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"darkshift.io/infrared/sdk/provider"
)

// guard runs a verb and turns a panic of it into an error; the stack goes to log. Only the verb's own goroutine is guarded:
// a panic in another one ends the program.
func guard[A any](log io.Writer, verb string, run func() (A, error)) (result A, err error) {
	defer func() {
		if value := recover(); value != nil {
			// The log is the operator's in the end, so the value is no more for it than for the host.
			fmt.Fprintf(log, "panic in %s: %s\n\n%s\n", verb, panicWords(value), debug.Stack())
			err = provider.Errorf(provider.Other, "the provider crashed in %s; its log has the stack", verb)
		}
	}()
	return run()
}

// panicWords says what was panicked with. Only the runtime's own errors are said in full: any other value may hold anything, such as a
// token that was refused.
func panicWords(value any) string {
	if e, ok := value.(runtime.Error); ok {
		return e.Error()
	}
	return fmt.Sprintf("a value of type %T, which is not printed because it may hold a secret", value)
}
