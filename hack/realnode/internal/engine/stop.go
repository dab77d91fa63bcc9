// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
)

// ErrRuns says that a node runs from the folder.
var ErrRuns = errors.New("a node runs from this folder: end it first")

// claim makes sure that one process at a time works on a folder.
func claim(root string) (*os.File, error) {
	lock, err := folder.TryLock(filepath.Join(root, "lock"))
	if errors.Is(err, folder.ErrLocked) {
		return nil, fmt.Errorf("%s: %w", root, ErrRuns)
	}
	return lock, err
}

// Stop ends all pods of a node that doesn't run, and whatever else a node that was killed left: processes, mounts and control groups.
// Containers get SIGTERM, and SIGKILL when grace is over. With purge it removes the folder too, images included.
func Stop(ctx context.Context, root string, grace time.Duration, purge bool) error {
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := claim(root)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := endProcesses(ctx, root, grace); err != nil {
		return err
	}
	removeShimSockets(root)
	if err := unmountAll(root); err != nil {
		return err
	}
	if err := poll(ctx, 10*time.Second, func() error { return removeCgroups(Cgroup(root)) }); err != nil {
		return err
	}
	removeLogLinks(root)
	removeDeadSocket()
	if purge {
		return os.RemoveAll(root)
	}
	// What containerd and the kubelet remember of pods that are gone; the images stay.
	for _, dir := range []string{"containerd/state", "containerd/runc", "containerd/addresses", "kubelet/pods", "pods"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			return fmt.Errorf("removing what a node left: %w", err)
		}
	}
	return nil
}

// endProcesses ends the containers in order and then everything else: the shims are asked last, because they reap.
func endProcesses(ctx context.Context, root string, grace time.Duration) error {
	group := Cgroup(root)
	pids, err := processesIn(group)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if isInit(pid) {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	gone := func() error {
		pids, err := processesIn(group)
		if err == nil && slices.ContainsFunc(pids, func(pid int) bool { return isInit(pid) && !isPause(pid) }) {
			err = errors.New("containers go on")
		}
		return err
	}
	if len(pids) > 0 {
		// When it is over they are killed, so its error tells nothing.
		_ = poll(ctx, grace, gone)
	}
	return poll(ctx, 20*time.Second, func() error {
		left, err := processesIn(group)
		if err != nil {
			return err
		}
		// Shims once their containers are gone, or there would be nobody to reap those.
		if len(left) == 0 {
			if left, err = processesOf(root); err != nil {
				return err
			}
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) > 0 {
			return errors.New("processes of the node do not end, SIGKILL notwithstanding")
		}
		return nil
	})
}

// isInit says whether a process is number 1 in a process namespace of its own, the one that a container's signals go to.
func isInit(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(numbers)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}

func isPause(pid int) bool {
	args := arguments(pid)
	return len(args) == 2 && args[0] == "/pause"
}

func arguments(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// processesOf are containerd, its shims and the kubelet of a folder, told by their arguments. They are killed by number, and none
// is this process or one that began after the look.
func processesOf(root string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking at the processes: %w", err)
	}
	configs := []string{
		filepath.Join(root, "containerd/config.toml"), filepath.Join(root, "containerd/containerd.sock"), "--config=" + filepath.Join(root, "kubelet/config.yaml"),
	}
	var all []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || isZombie(pid) {
			continue
		}
		args := arguments(pid)
		if len(args) > 1 && slices.ContainsFunc(args[1:], func(arg string) bool { return slices.Contains(configs, arg) }) {
			all = append(all, pid)
		}
	}
	return all, nil
}

func isZombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(after, "Z")
}

// removeShimSockets removes the sockets of shims that were killed. They are the one thing that containerd keeps elsewhere; each
// shim's folder names its own.
func removeShimSockets(root string) {
	names, _ := filepath.Glob(filepath.Join(root, "containerd/state/io.containerd.runtime.v2.task", kubernetes, "*", "address")) // a pattern that is right
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if socket, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "unix://"); ok {
			_ = os.Remove(socket)
		}
	}
}

// removeLogLinks removes the kubelet's links to logs, which it keeps in a folder that can't be chosen.
func removeLogLinks(root string) {
	const dir = "/var/log/containers"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, root+"/") {
			_ = os.Remove(path)
		}
	}
}

// removeDeadSocket removes the socket that a kubelet makes for device plugins, in a folder that can't be chosen, unless another kubelet
// listens there.
func removeDeadSocket() {
	const socket = "/var/lib/kubelet/device-plugins/kubelet.sock"
	conn, err := net.Dial("unix", socket)
	if err == nil {
		_ = conn.Close()
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(socket)
	}
}

// unmountAll unmounts everything below a folder, the newest mount first.
func unmountAll(root string) error {
	all, err := mounts(root)
	if err != nil {
		return err
	}
	for _, path := range all {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("unmounting %s: %w", path, err)
		}
	}
	return nil
}

// poll calls check until it returns nil, ctx ends, or the time is over; the last error is returned then.
func poll(ctx context.Context, limit time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-ticker.C:
		}
	}
}
