// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the system kill the process when this one is killed, so that an interrupted test leaves nothing.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
