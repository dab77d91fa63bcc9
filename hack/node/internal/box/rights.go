// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// DefaultCapabilities are those that container engines leave to user 0. None of
// them allows to mount, so a read-only root folder stays one.
func DefaultCapabilities() []int {
	return []int{
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FSETID, unix.CAP_FOWNER, unix.CAP_MKNOD, unix.CAP_NET_RAW, unix.CAP_SETGID,
		unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT, unix.CAP_KILL, unix.CAP_AUDIT_WRITE,
	}
}

// AllCapabilities are those that a privileged program keeps, in its own
// namespace only.
func AllCapabilities() []int {
	all := make([]int, unix.CAP_LAST_CAP+1)
	for i := range all {
		all[i] = i
	}
	return all
}

// dropRights becomes the program's user. The order matters: each step needs
// a right that a later one takes away.
func dropRights(spec Spec) error {
	for c := range unix.CAP_LAST_CAP + 1 {
		if slices.Contains(spec.Capabilities, c) {
			continue
		}
		// One that this kernel doesn't know can't be had either.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	if err := clearInheritable(); err != nil {
		return err
	}
	if os.Getuid() != spec.UID || os.Getgid() != spec.GID || len(spec.Groups) > 0 {
		if err := becomeUser(spec); err != nil {
			return err
		}
	}
	if spec.NoNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("forbidding new privileges: %w", err)
		}
	}
	return nil
}

// clearInheritable also clears the ambient set, which is never larger.
func clearInheritable() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("clearing inheritable capabilities: %w", err)
	}
	return nil
}

func becomeUser(spec Spec) error {
	if err := syscall.Setgroups(spec.Groups); err != nil {
		return fmt.Errorf("taking on the groups: %w", err)
	}
	if err := syscall.Setresgid(spec.GID, spec.GID, spec.GID); err != nil {
		return fmt.Errorf("becoming group %d: %w", spec.GID, err)
	}
	if err := syscall.Setresuid(spec.UID, spec.UID, spec.UID); err != nil {
		return fmt.Errorf("becoming user %d: %w", spec.UID, err)
	}
	return nil
}
