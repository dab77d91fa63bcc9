// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// envTie says that the program was started again to drop its tie.
const envTie = "INFRARED_TOFU_TIE"

// dropTie takes back the SIGKILL that the kernel would send when the plugin dies. It holds for one thread, the first, which
// need not be the one that main runs on: starting the program again leaves only this thread.
func dropTie() error {
	runtime.LockOSThread() // for good: OpenTofu is tied to the thread that starts it
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, 0, 0); errno != 0 {
		return fmt.Errorf("dropping the tie to the plugin's life: %w", errno)
	}
	if syscall.Gettid() == os.Getpid() || os.Getenv(envTie) != "" {
		return nil
	}
	return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), envTie+"=dropped"))
}

// ownGroup starts OpenTofu in a group of its own, so that nobody's Ctrl-C is its second interrupt. Should the shim be killed, that
// is its interrupt.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}

// self is this program, also where its file was replaced since it started.
func self() (string, error) { return "/proc/self/exe", nil }
