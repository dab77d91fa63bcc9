// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package killproxy

import "os/exec"

// dieWithParent does nothing: only Linux can tie a process to its parent.
func dieWithParent(*exec.Cmd) {}
