// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/hack/node/internal/box"
	"darkshift.io/infrared/hack/node/internal/image"
)

// rights fills in users, groups and capabilities. The container's word wins
// over the pod's, and that over the image's.
func rights(pod *corev1.Pod, c corev1.Container, img image.Image, spec *box.Spec) error {
	whole, own := pod.Spec.SecurityContext, c.SecurityContext
	if whole == nil {
		whole = &corev1.PodSecurityContext{}
	}
	if own == nil {
		own = &corev1.SecurityContext{}
	}
	user := first(own.RunAsUser, whole.RunAsUser, &img.User)
	spec.UID, spec.GID = int(user), int(first(own.RunAsGroup, whole.RunAsGroup, &img.User))
	groups := slices.Clone(whole.SupplementalGroups)
	if whole.FSGroup != nil {
		groups = append(groups, *whole.FSGroup)
	}
	for _, g := range groups {
		// A node without root can give no groups but the program's own, which it has anyway.
		if int(g) != spec.GID {
			spec.Groups = append(spec.Groups, int(g))
		}
	}
	if first(own.RunAsNonRoot, whole.RunAsNonRoot, new(bool)) && user == 0 {
		return errors.New("securityContext.runAsNonRoot is set, and the user is 0: set runAsUser")
	}
	spec.ReadOnlyRoot = first(own.ReadOnlyRootFilesystem, new(bool))
	yes := true
	spec.NoNewPrivileges = !first(own.AllowPrivilegeEscalation, &yes)
	var err error
	spec.Capabilities, err = capabilities(own)
	return err
}

// first is the first value that is set; the last one always is.
func first[T any](values ...*T) T {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	panic("no default was given")
}

func capabilities(c *corev1.SecurityContext) ([]int, error) {
	if c.Privileged != nil && *c.Privileged {
		return box.AllCapabilities(), nil
	}
	keep := box.DefaultCapabilities()
	if c.Capabilities == nil {
		return keep, nil
	}
	for _, name := range c.Capabilities.Drop {
		if name == "ALL" {
			keep = nil
			continue
		}
		n, err := capability(name)
		if err != nil {
			return nil, fmt.Errorf("securityContext.capabilities.drop: %w", err)
		}
		keep = slices.DeleteFunc(keep, func(k int) bool { return k == n })
	}
	for _, name := range c.Capabilities.Add {
		if name == "ALL" {
			return box.AllCapabilities(), nil
		}
		n, err := capability(name)
		if err != nil {
			return nil, fmt.Errorf("securityContext.capabilities.add: %w", err)
		}
		keep = append(keep, n)
	}
	return keep, nil
}

func capability(name corev1.Capability) (int, error) {
	n, ok := map[string]int{
		"CHOWN": unix.CAP_CHOWN, "DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "FSETID": unix.CAP_FSETID, "FOWNER": unix.CAP_FOWNER,
		"MKNOD": unix.CAP_MKNOD, "NET_RAW": unix.CAP_NET_RAW, "SETGID": unix.CAP_SETGID, "SETUID": unix.CAP_SETUID,
		"SETFCAP": unix.CAP_SETFCAP, "SETPCAP": unix.CAP_SETPCAP, "NET_BIND_SERVICE": unix.CAP_NET_BIND_SERVICE,
		"SYS_CHROOT": unix.CAP_SYS_CHROOT, "KILL": unix.CAP_KILL, "AUDIT_WRITE": unix.CAP_AUDIT_WRITE,
		"NET_ADMIN": unix.CAP_NET_ADMIN, "SYS_ADMIN": unix.CAP_SYS_ADMIN, "SYS_PTRACE": unix.CAP_SYS_PTRACE, "SYS_TIME": unix.CAP_SYS_TIME,
	}[strings.TrimPrefix(string(name), "CAP_")]
	if !ok {
		return 0, fmt.Errorf("this node doesn't know capability %q", name)
	}
	return n, nil
}
