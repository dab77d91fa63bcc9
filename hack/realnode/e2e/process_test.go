// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// processesOf are the processes of a pod's first container, seen from this machine, lowest number first: the container's own first.
func processesOf(t *testing.T, pod *corev1.Pod) []int {
	t.Helper()
	id := strings.TrimPrefix(pod.Status.ContainerStatuses[0].ContainerID, "containerd://")
	lists, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, path := range lists {
		groups, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(groups), id) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	slices.Sort(all)
	return all
}

// statusOf are the lines of /proc/<pid>/status.
func statusOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}

const noCapabilities = "0000000000000000"

// initOf is the process of a pod's first container that is number 1 in there.
func initOf(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	for _, pid := range processesOf(t, pod) {
		if numbers := strings.Fields(statusOf(t, pid)["NSpid"]); len(numbers) > 1 && numbers[len(numbers)-1] == "1" {
			return pid
		}
	}
	t.Fatalf("no process of pod %s is its container's first", pod.Name)
	return 0
}

// pause stops infrared-build for as long as a test looks at its container, which is there until that ends.
func pause(t *testing.T, pod *corev1.Pod) (resume func()) {
	t.Helper()
	pid := initOf(t, pod)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume = func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	t.Cleanup(resume) // else a test that fails leaves a container that SIGTERM does not reach
	return resume
}

// argumentsOf is a process's command line.
func argumentsOf(t *testing.T, pid int) []string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
