// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Cgroup is the name of the control group that holds all pods of a node, told from those of other folders.
func Cgroup(root string) string {
	return fmt.Sprintf("infrared-%x", sha256.Sum256([]byte(root)))[:len("infrared-")+8]
}

// mounts are the mount points below a folder, or those of some file system types, newest first.
func mounts(dir string, types ...string) ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking at the mounts: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(data)) {
		// ID parent major:minor root mountpoint options... - type source options
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 1 {
			continue
		}
		// Blanks in a path are octal there.
		path := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(left[4])
		if len(types) > 0 && !slices.Contains(types, right[0]) {
			continue
		}
		if path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") {
			found = append(found, path)
		}
	}
	slices.Reverse(found)
	return found, nil
}

// makeCgroups makes the node's control group in each hierarchy, since the kubelet wants to find it there.
func makeCgroups(name string) error {
	hierarchies, err := mounts("/", "cgroup", "cgroup2")
	if err != nil {
		return err
	}
	if len(hierarchies) == 0 {
		return errors.New("a real node needs control groups, and none are mounted: mount them below /sys/fs/cgroup")
	}
	for _, h := range hierarchies {
		dir := filepath.Join(h, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making a control group: %w: run it as root where control groups are writable", err)
		}
		enableControllers(h)
		// A cpuset of version 1 begins with no processor, and takes no process then.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if all, err := os.ReadFile(filepath.Join(h, file)); err == nil {
				if err := os.WriteFile(filepath.Join(dir, file), all, 0o644); err != nil {
					return fmt.Errorf("giving the node's control group all of %s: %w", file, err)
				}
			}
		}
	}
	return nil
}

// enableControllers has a hierarchy of version 2 hand its controllers down. What it refuses, the kubelet names if it needs it.
func enableControllers(hierarchy string) {
	all, err := os.ReadFile(filepath.Join(hierarchy, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, controller := range strings.Fields(string(all)) {
		_ = os.WriteFile(filepath.Join(hierarchy, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
}

// cgroupFolders are those of the node's control group and of all below it, the deepest first.
func cgroupFolders(name string) ([]string, error) {
	hierarchies, err := mounts("/", "cgroup", "cgroup2")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, h := range hierarchies {
		// One that goes away meanwhile is none of ours to worry about.
		_ = filepath.WalkDir(filepath.Join(h, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// processesIn are the processes in the node's control groups.
func processesIn(name string) ([]int, error) {
	folders, err := cgroupFolders(name)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	var all []int
	for _, dir := range folders {
		file, err := os.Open(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 0 && !seen[pid] {
				seen[pid] = true
				all = append(all, pid)
			}
		}
		_ = file.Close()
	}
	return all, nil
}

// removeCgroups removes the node's empty control groups.
func removeCgroups(name string) error {
	folders, err := cgroupFolders(name)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the control group %s: %w", dir, err)
		}
	}
	return nil
}
