// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// endWithin is how long the end of a plugin waits for what it left behind. A killed process is gone within milliseconds, unless
	// the system itself hangs.
	endWithin = 3 * time.Second
	// endTick is how often it looks.
	endTick = 2 * time.Millisecond
	// reapEvery is how often a host that inherits orphans looks for dead ones. It is longer than endWithin: a plugin's own process
	// is on the system's table for that long at its end, dead.
	reapEvery = 5 * time.Second
)

// ownGroup makes the process the leader of a process group. What it starts stays in the group unless it asks for another. A session
// of its own would say more, but the scheduler gives each session a share of its own, and on a busy machine a new one starts slowly.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// family is a plugin's process and all that it started: what is in its process group, and what has the launch's mark in its
// environment wherever it went.
type family struct {
	leader    int            // 0: it is not known, or gone
	marker    string         // NAME=VALUE
	seen      map[int]string // members outside of the group by pid, with their start time
	unclaimed map[int]string // dead leaders of groups that are our children, at the last look
}

// waitForLeader returns once the leader has ended, and leaves it on the system's table. Meanwhile it takes dead orphans off it, where
// they fall to this process: as process 1 of a container.
func (f *family) waitForLeader() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			err := unix.Waitid(unix.P_PID, f.leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, syscall.EINTR) {
				return
			}
		}
	}()
	if !inheritsOrphans() {
		<-ended
		return
	}
	ticker := time.NewTicker(reapEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			f.reap(f.members())
			f.reapUnclaimed()
		}
	}
}

// reapUnclaimed takes the dead off the system's table that lead a process group and that nobody has waited for between two looks. They
// may be of any plugin, or, were there such a thing, a child that another part of this program started in a group of its own and
// forgot.
func (f *family) reapUnclaimed() {
	now := map[int]string{}
	for m := range processes() {
		if !m.dead || m.parent != os.Getpid() || m.group != m.pid || m.pid == f.leader {
			continue
		}
		now[m.pid] = m.started
		if f.unclaimed[m.pid] == m.started {
			_, _ = syscall.Wait4(m.pid, nil, syscall.WNOHANG, nil)
		}
	}
	f.unclaimed = now
}

func inheritsOrphans() bool {
	var subreaper int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	return os.Getpid() == 1 || (err == nil && subreaper != 0)
}

// end kills what is left of the family, and takes the dead that fall to this process off the system's table.
func (f *family) end() {
	deadline := time.Now().Add(endWithin)
	ticker := time.NewTicker(endTick)
	defer ticker.Stop()
	for {
		members := f.members()
		if f.kill(members)+f.reap(members) == 0 || time.Now().After(deadline) {
			return
		}
		<-ticker.C
	}
}

// lives says whether there is a living member beside the leader.
func (f *family) lives() bool {
	for _, m := range f.members() {
		if !m.dead {
			return true
		}
	}
	return false
}

// kill kills the living members, and says how many there were.
func (f *family) kill(members []member) int {
	living := 0
	for _, m := range members {
		if m.dead || m.pid == f.leader {
			continue
		}
		living++
		// A handle first, then a second look: the number may have gone to another process by now.
		process, err := os.FindProcess(m.pid)
		if err != nil {
			continue
		}
		if now, ok := look(m.pid); ok && now.started == m.started {
			_ = process.Signal(os.Kill)
		}
		_ = process.Release()
	}
	return living
}

// reap takes dead members that are our children off the system's table, and says how many are still on their way. Only these very
// numbers: a child that somebody else in this program waits for is none of our business.
func (f *family) reap(members []member) int {
	waiting := 0
	for _, m := range members {
		if !m.dead || m.pid == f.leader || m.parent != os.Getpid() {
			continue
		}
		if got, err := syscall.Wait4(m.pid, nil, syscall.WNOHANG, nil); got == 0 && err == nil {
			waiting++
		}
	}
	return waiting
}

// member is a process as it was at one moment.
type member struct {
	pid, parent, group int
	started            string // clock ticks since boot
	dead               bool
}

// members are those of the family that this user may see.
func (f *family) members() []member {
	own := unix.Getpgrp()
	var found []member
	for m := range processes() {
		if f.has(m, own) {
			found = append(found, m)
		}
	}
	return found
}

// processes looks through all of this machine but our own.
func processes() iter.Seq[member] {
	return func(yield func(member) bool) {
		folder, err := os.Open("/proc")
		if err != nil {
			return
		}
		defer folder.Close()
		names, _ := folder.Readdirnames(-1)
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil || pid == os.Getpid() {
				continue
			}
			if m, ok := look(pid); ok && !yield(m) {
				return
			}
		}
	}
}

// has says whether a process is of the family. A dead one shows no environment any more, so it goes by its group, by what was seen
// while it lived, or by this: a child of ours that is neither in our group nor leads one was never started by us.
func (f *family) has(m member, own int) bool {
	switch {
	case m.pid == f.leader:
		return false
	case f.leader != 0 && m.group == f.leader:
		return true
	case m.dead:
		return f.seen[m.pid] == m.started ||
			m.parent == os.Getpid() && m.group != own && m.group != m.pid
	case !marked(m.pid, f.marker):
		return false
	}
	if f.seen == nil {
		f.seen = map[int]string{}
	}
	f.seen[m.pid] = m.started
	return true
}

// marked says whether the process was started with this line in its environment. Those of other users can't be asked.
func marked(pid int, line string) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if string(entry) == line {
			return true
		}
	}
	return false
}

// look reads /proc/<pid>/stat; false when there is no such process.
func look(pid int) (member, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return member{}, false
	}
	// The second field is the program's name in parentheses, and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, parent, group, started = 0, 1, 2, 19 // fields 3, 4, 5 and 22 of proc(5)
	if len(fields) <= started {
		return member{}, false
	}
	m := member{pid: pid, started: string(fields[started]), dead: fields[state][0] == 'Z' || fields[state][0] == 'X'}
	m.parent, _ = strconv.Atoi(string(fields[parent]))
	m.group, _ = strconv.Atoi(string(fields[group]))
	return m, true
}
