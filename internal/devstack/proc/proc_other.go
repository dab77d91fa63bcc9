// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proc

import (
	"errors"
	"os/exec"
	"syscall"
)

var errNotLinux = errors.New("the local stack runs on Linux only: its processes die with their parent, which needs the kernel's help")

func dieWithParent(*exec.Cmd) error { return errNotLinux }

// Found is a process of this machine.
type Found struct {
	Pid        int
	StartTicks uint64
	Command    string
}

// FindByEnv is for Linux only.
func FindByEnv(_, _ string) ([]Found, error) { return nil, errNotLinux }

// Look is for Linux only.
func Look(int) (Found, bool) { return Found{}, false }

// Alive is for Linux only.
func (f Found) Alive() bool { return false }

// Signal is for Linux only.
func (f Found) Signal(syscall.Signal) {}

// PortHolder is for Linux only.
func PortHolder(int) string { return "" }
