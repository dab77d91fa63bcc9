// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
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
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, 0, 0); errno != 0 {
		return fmt.Errorf("dropping the tie to the plugin's life: %w", errno)
	}
	if syscall.Gettid() == os.Getpid() || os.Getenv(envTie) != "" {
		return nil
	}
	return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), envTie+"=dropped"))
}

// widen makes a pipe hold 1 MiB instead of 64 KiB, where the system lets us.
func widen(pipe *os.File) {
	const setPipeSize = 1031 // F_SETPIPE_SZ
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, pipe.Fd(), setPipeSize, 1<<20)
}

// runs says whether a process is one of a run's for a cluster, and is not merely waiting to be reaped. Process IDs are given out
// again.
func runs(pid int, cluster string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(environ, []byte(envRun+"="+cluster+"\x00"))
}

// self is this program, also where its file was replaced since it started.
func self() (string, error) { return "/proc/self/exe", nil }
