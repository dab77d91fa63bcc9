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

// ownGroup starts OpenTofu in a group of its own, so that nobody's Ctrl-C is its second interrupt.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func self() (string, error) { return os.Executable() }
