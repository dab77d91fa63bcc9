// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stdout keeps a plugin's standard output free for the handshake. The host reads the plugin's address from its
// first line, so one line printed before that, by any library's init, would make the plugin unusable.
//
// When this package is initialised in a program that a host started, it moves standard output aside and lets everything
// that is printed end up on standard error. It has to come before whatever might print. Go initialises, of the packages
// that are ready, the one whose import path sorts first; a package is ready when all that it imports is. This one imports
// only syscall, so it is ready before os is, and with that before fmt, log and all that is built on them.
package stdout

import (
	"sync/atomic"
	"syscall"
)

// The host puts this variable into the environment of a plugin that it starts. A program that a person starts keeps its
// standard output.
const (
	Cookie      = "INFRARED_PLUGIN"
	CookieValue = "provider.infrared.darkshift.io"
)

// None says that there is no file descriptor.
const None = -1

// saved is where standard output was moved to, set before anything else of the program runs.
var saved = aside()

// taken says that somebody has it.
var taken atomic.Bool

// Take returns the file descriptor on which the host waits for the handshake, or None where standard output was left as it
// is. The second time it returns false: a program has one handshake.
func Take() (fd int, first bool) {
	return saved, taken.CompareAndSwap(false, true)
}

func aside() int {
	if value, _ := syscall.Getenv(Cookie); value != CookieValue {
		return None
	}
	return move()
}
