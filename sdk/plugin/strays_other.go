// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package plugin

import "os/exec"

// ownGroup does nothing here.
func ownGroup(*exec.Cmd) {}

// family is only a name here: what a plugin leaves behind is found on Linux, where hosts run.
type family struct {
	leader int
	marker string
}

// waitForLeader leaves the waiting to the one who takes the process off the system's table.
func (f *family) waitForLeader() {}

func (f *family) end() {}

func (f *family) lives() bool { return false }
