// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What sdk/tofu puts into the environment of OpenTofu and of the shim that it is started through, and of the shim alone.
const (
	markRun  = "INFRARED_TOFU_RUN="
	markShim = "INFRARED_TOFU="
)

// orphanTick is how often we look whether an OpenTofu has ended.
const orphanTick = 50 * time.Millisecond

// adoptOrphans makes whatever loses its parent below this process its child, as it is where this is process 1.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// awaitTofu waits for every OpenTofu of the cluster that lost its plugin, and takes the dead off the system's table. It says false where
// ctx ended first. The plugins have ended before: nobody else waits for children any more.
//
// The shim has told OpenTofu to stop when the plugin died. Where the shim is dead too, it is told here, once: a second time it would drop
// its state.
func awaitTofu(ctx context.Context, cluster string) bool {
	ticker := time.NewTicker(orphanTick)
	defer ticker.Stop()
	told := map[int]bool{}
	for {
		reap()
		left := tofuProcesses(cluster)
		if len(left) == 0 {
			return true
		}
		shims := map[int]bool{}
		for _, p := range left {
			shims[p.pid] = p.shim
		}
		for _, p := range left {
			if !p.shim && !shims[p.parent] && !told[p.pid] {
				told[p.pid] = true
				_ = syscall.Kill(p.pid, syscall.SIGINT)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
}

// reap takes dead children off the system's table.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}

type tofuProcess struct {
	pid, parent int
	shim        bool
}

// tofuProcesses are OpenTofu and its shims. Each leads a process group; what OpenTofu starts is in its group, or is a daemon in a session of
// its own, and neither is waited for. A dead one shows no environment.
func tofuProcesses(cluster string) []tofuProcess {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	_, _, ours, _ := readStat("/proc/self/stat")
	var found []tofuProcess
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		parent, group, session, ok := readStat(path)
		if !ok || group != pid || session != ours {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if err != nil || !has(environ, markRun+cluster+"\x00") {
			continue
		}
		found = append(found, tofuProcess{pid: pid, parent: parent, shim: has(environ, markShim)})
	}
	return found
}

// has says whether an entry of an environment begins like this.
func has(environ []byte, entry string) bool {
	return bytes.HasPrefix(environ, []byte(entry)) || bytes.Contains(environ, []byte("\x00"+entry))
}

// readStat reads fields 4 to 6 of proc(5)'s stat.
func readStat(path string) (parent, group, session int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, 0, false
	}
	// The second field is the program's name in parentheses, and may hold anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 4 {
		return 0, 0, 0, false
	}
	parent, _ = strconv.Atoi(string(fields[1]))
	group, _ = strconv.Atoi(string(fields[2]))
	session, _ = strconv.Atoi(string(fields[3]))
	return parent, group, session, true
}
