// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyTerm stands for the Stop that a host sends.
func notifyTerm(c chan<- os.Signal) { signal.Notify(c, syscall.SIGTERM) }
