// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package tofu

import (
	"os"
	"syscall"
)

// envTie is only used on Linux, where terraform-exec ties what it starts to its own life.
const envTie = "INFRARED_TOFU_TIE"

func dropTie() error { return nil }

func widen(*os.File) {}

func runs(pid int, _ string) bool { return pid > 1 && syscall.Kill(pid, 0) == nil }

func self() (string, error) { return os.Executable() }
