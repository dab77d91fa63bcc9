// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent ties the child to the forking thread and gives it a process
// group of its own.
func dieWithParent(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return nil
}

// Found is a process of this machine. Pid and StartTicks together name it for
// good: the number alone is used again.
type Found struct {
	Pid        int
	StartTicks uint64 // clock ticks since boot
	Command    string // command line, spaces between the arguments
}

// FindByEnv lists the running processes that were started with exactly this
// environment variable, ourselves excepted. Processes of other users can't be
// looked at and are left out.
func FindByEnv(key, value string) ([]Found, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	want := []byte(key + "=" + value)
	var found []Found
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !hasLine(env, want) {
			continue
		}
		if f, ok := Look(pid); ok {
			found = append(found, f)
		}
	}
	return found, nil
}

// hasLine says whether a list of NUL-ended strings holds want.
func hasLine(list, want []byte) bool {
	for s := range bytes.SplitSeq(list, []byte{0}) {
		if bytes.Equal(s, want) {
			return true
		}
	}
	return false
}

// Look finds the process with this number; false when there is none or only
// its remains (a zombie) are left. A zombie with threads is still being taken
// apart, and holds its files and ports until that is done.
func Look(pid int) (Found, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Found{}, false
	}
	// The second field is the name in parentheses and may hold anything.
	_, rest, ok := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	fields := strings.Fields(rest)
	const state, start = 0, 19 // fields 3 and 22 of proc(5)
	if !ok || len(fields) <= start || fields[state] == "X" {
		return Found{}, false
	}
	if fields[state] == "Z" && threads(pid) < 2 {
		return Found{}, false
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err != nil {
		return Found{}, false
	}
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	command := strings.TrimSpace(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
	return Found{Pid: pid, StartTicks: ticks, Command: command}, true
}

func threads(pid int) int {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0
	}
	return len(tasks)
}

// Alive says whether this very process, and not another with its number, runs.
func (f Found) Alive() bool {
	now, ok := Look(f.Pid)
	return ok && now.StartTicks == f.StartTicks
}

// Signal sends to this very process.
func (f Found) Signal(s syscall.Signal) {
	if f.Alive() {
		_ = syscall.Kill(f.Pid, s)
	}
}

// PortHolder names the process that listens on a TCP port of 127.0.0.1 or of
// all addresses, as far as this user may see; "" when unknown.
func PortHolder(port int) string {
	inodes := listeners(port)
	if len(inodes) == 0 {
		return ""
	}
	links, err := os.ReadDir("/proc")
	if err != nil {
		return ""
	}
	for _, e := range links {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if holdsAny(pid, inodes) {
			f, _ := Look(pid)
			return fmt.Sprintf("process %d (%s)", pid, programOf(f.Command))
		}
	}
	return ""
}

// programOf is the first word of a command line: its arguments may hold secrets.
func programOf(command string) string {
	name, _, _ := strings.Cut(command, " ")
	return name
}

// listeners gives the socket numbers of those who listen on port.
func listeners(port int) map[string]bool {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			const local, state, inode, listen = 1, 3, 9, "0A"
			if len(fields) > inode && fields[state] == listen && strings.HasSuffix(fields[local], fmt.Sprintf(":%04X", port)) {
				inodes["socket:["+fields[inode]+"]"] = true
			}
		}
	}
	return inodes
}

func holdsAny(pid int, sockets map[string]bool) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range fds {
		if target, err := os.Readlink(dir + "/" + fd.Name()); err == nil && sockets[target] {
			return true
		}
	}
	return false
}
