// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLocked is returned when somebody else holds a lock.
var ErrLocked = errors.New("somebody else holds the lock")

// Lock takes a lock that is given back when the file is closed or the process
// ends, however it ends.
func Lock(path string) (*os.File, error) { return lock(path, unix.LOCK_EX|unix.LOCK_NB) }

// LockSupervisor takes the lock of a pod's supervisor, and waits while another
// supervisor has it.
func (f Folder) LockSupervisor() (*os.File, error) { return lock(f.path("run", "lock"), unix.LOCK_EX) }

// Supervised says whether a supervisor lives.
func (f Folder) Supervised() (bool, error) {
	// Shared, so that those who only ask don't mistake each other for one.
	file, err := lock(f.path("run", "lock"), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, file.Close()
}

// WaitSupervisor returns when no supervisor lives. It takes a thread of its own
// for as long, and can't be cancelled.
func (f Folder) WaitSupervisor() error {
	file, err := lock(f.path("run", "lock"), unix.LOCK_SH)
	if err != nil {
		return err
	}
	return file.Close()
}

func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	for {
		err = unix.Flock(int(file.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrLocked
	}
	return nil, fmt.Errorf("taking a lock: %w", err)
}

// Look names the process that has a number now.
func Look(pid int) (Process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, false
	}
	// The second field is the program's name in parentheses and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, start = 0, 19 // fields 3 and 22 of proc(5)
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return Process{}, false
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	return Process{PID: pid, Start: ticks}, err == nil
}

// Alive says whether this very process runs. The first process of a box is not
// gone before everything else in the box is.
func (p Process) Alive() bool {
	now, ok := Look(p.PID)
	return ok && now == p
}
