// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity decides how users of the box are users of the host.
//
// Root hands out every ID that it has itself, each as itself. For anybody else
// the kernel allows one ID, so the one asked for is mapped to ours, and the
// process needs ambient capabilities to do the mounts: becoming a user
// other than 0 would lose them at exec.
func identity(spec Spec, attr *syscall.SysProcAttr) error {
	if os.Geteuid() != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: spec.UID, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: spec.GID, HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER}
		return nil
	}
	var err error
	if attr.UidMappings, err = ownIDs("/proc/self/uid_map", "user", spec.UID); err != nil {
		return err
	}
	attr.GidMappings, err = ownIDs("/proc/self/gid_map", "group", spec.GID)
	attr.GidMappingsEnableSetgroups = true
	return err
}

// ownIDs maps the IDs of the namespace that we are in to themselves.
func ownIDs(path, what string, want int) ([]syscall.SysProcIDMap, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading which IDs there are: %w", err)
	}
	defer file.Close()
	var out []syscall.SysProcIDMap
	found := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var inside, outside, size int
		if _, err := fmt.Fscan(strings.NewReader(lines.Text()), &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
		found = found || want >= inside && want < inside+size
	}
	if !found {
		return nil, fmt.Errorf("%s ID %d is not among those this namespace has: choose another, or run the node outside of a container", what, want)
	}
	return out, nil
}
