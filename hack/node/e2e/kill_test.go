// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// hostFolder gives a pod's container a folder of this machine at /host.
func hostFolder(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	dir := t.TempDir()
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "host", MountPath: "/host"})
	return dir
}

// onceScript writes a line when it begins and waits to be let go.
const onceScript = "echo ran >> /host/ran; while ! test -e /host/go; do read -t 0.05 x < /host/fifo; done; echo done"

// oncePod writes to a folder each time it runs. release lets it end.
func oncePod(t *testing.T, name string) (pod *corev1.Pod, runs func() string, release func()) {
	t.Helper()
	pod = shellPod(name, onceScript)
	pod.Spec.Containers[0].Image = "shell"
	pod.Spec.Containers[0].Command = []string{"bash"}
	dir := hostFolder(t, pod)
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	// Held open both ways, so that a read waits for its time to be up.
	fifo, err := os.OpenFile(filepath.Join(dir, "fifo"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fifo.Close() })
	runs = func() string {
		data, _ := os.ReadFile(filepath.Join(dir, "ran"))
		return string(data)
	}
	release = func() {
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return pod, runs, release
}

func (s space) restartNode() {
	s.t.Helper()
	if err := s.node.start(); err != nil {
		s.t.Fatal(err)
	}
}

func TestNodeKilledInMidJob(t *testing.T) {
	s := newSpace(t)
	pod, runs, release := oncePod(t, "once")
	s.job(pod)
	eventually(t, func() error {
		if runs() != "ran\n" {
			return fmt.Errorf("the job has written %q", runs())
		}
		return nil
	})
	made := s.podOf("once")
	s.node.kill()
	if err := leftovers(string(made.UID)); err == nil {
		t.Fatal("the pod died with the node")
	}
	s.restartNode()
	release()
	if !s.jobEnded("once") {
		t.Errorf("the job failed: %s", describe(s.podOf("once")))
	}
	if runs() != "ran\n" {
		t.Errorf("the job has written %q, want that it ran once", runs())
	}
	if text := s.output(made.Name); text != "done\n" {
		t.Errorf("the log over both nodes is %q", text)
	}
}

// A pod that ends while no node is there keeps its exit code.
func TestPodEndsWithoutNode(t *testing.T) {
	s := newSpace(t)
	pod, runs, release := oncePod(t, "alone")
	pod.Spec.Containers[0].Args[1] += "; exit 9"
	made := s.create(pod)
	eventually(t, func() error {
		if runs() == "" {
			return fmt.Errorf("the pod has not begun")
		}
		return nil
	})
	s.node.kill()
	release()
	eventually(t, func() error { return supervisorGone(made.UID) })
	s.restartNode()
	got := s.until("alone", ended)
	if state := got.Status.ContainerStatuses[0].State.Terminated; state == nil || state.ExitCode != 9 || runs() != "ran\n" {
		t.Errorf("the pod is %s and has written %q, want exit code 9 and one line", describe(got), runs())
	}
}

// TestNodeKilledAfterEachFile kills the node as soon as it and the supervisor have made
// one, two, three and more files of a pod, until a pod ends with fewer.
func TestNodeKilledAfterEachFile(t *testing.T) {
	s := newSpace(t)
	for n := 1; ; n++ {
		name := fmt.Sprintf("step-%d", n)
		pod, runs, release := oncePod(t, name)
		release()
		made := s.create(pod)
		dir := filepath.Join(s.node.root(), "pods", string(made.UID))
		killed := false
		// Without a pause, or the moment would be over.
		for reached := 0; reached < n && !killed; {
			reached = files(dir)
			if status, err := os.ReadFile(filepath.Join(dir, "run", "status.json")); err == nil && strings.Contains(string(status), `"Ended":true`) {
				break
			}
			if reached >= n {
				s.node.kill()
				killed = true
			}
		}
		if killed {
			s.restartNode()
		}
		got := s.until(name, ended)
		if got.Status.Phase != corev1.PodSucceeded || runs() != "ran\n" {
			t.Errorf("killed after %d files, the pod is %s and has written %q, want that it ran once", n, describe(got), runs())
		}
		if !killed {
			if n < 8 {
				t.Errorf("a pod had fewer than %d files: the node was hardly killed", n)
			}
			return
		}
	}
}

// files counts the files and folders of a pod, other than those a container sees.
func files(dir string) int {
	n := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			n++
		}
		if d != nil && d.Name() == "root" {
			return fs.SkipDir
		}
		return nil
	})
	return n
}

// TestNodeKilledAgainAndAgain kills the node a dozen times while several Jobs run.
func TestNodeKilledAgainAndAgain(t *testing.T) {
	s := newSpace(t)
	const jobs, kills = 8, 12
	var names []string
	var runs []func() string
	for i := range jobs {
		pod, ran, release := oncePod(t, fmt.Sprintf("again-%d", i))
		release()
		names, runs = append(names, pod.Name), append(runs, ran)
		s.job(pod)
	}
	for range kills {
		s.node.kill()
		before := files(filepath.Join(s.node.root(), "pods"))
		s.restartNode()
		// Until the new node has done something, or there is nothing left to do.
		eventually(t, func() error {
			if files(filepath.Join(s.node.root(), "pods")) != before || s.allEnded(names) {
				return nil
			}
			return fmt.Errorf("the node does nothing")
		})
	}
	for i, name := range names {
		if !s.jobEnded(name) {
			t.Errorf("job %s failed: %s", name, describe(s.podOf(name)))
		}
		if got := runs[i](); got != "ran\n" {
			t.Errorf("job %s has written %q, want that it ran once", name, got)
		}
	}
}

func (s space) allEnded(jobs []string) bool {
	for _, name := range jobs {
		if !ended(s.podOf(name)) {
			return false
		}
	}
	return true
}

// supervisor finds the process that supervises a pod.
func supervisor(uid types.UID) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		data, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if strings.Contains(string(data), "\x00supervise\x00") && strings.Contains(string(data), string(uid)) {
			return strconv.Atoi(e.Name())
		}
	}
	return 0, fmt.Errorf("no supervisor of pod %s", uid)
}

func supervisorGone(uid types.UID) error {
	if pid, err := supervisor(uid); err == nil {
		return fmt.Errorf("supervisor %d still runs", pid)
	}
	return nil
}

func TestSupervisorKilled(t *testing.T) {
	for name, withNode := range map[string]bool{"NodeAlive": true, "NodeDead": false} {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			pod, runs, release := oncePod(t, "lost")
			s.job(pod)
			eventually(t, func() error {
				if runs() == "" {
					return fmt.Errorf("the job has not begun")
				}
				return nil
			})
			made := s.podOf("lost")
			pid, err := supervisor(made.UID)
			if err != nil {
				t.Fatal(err)
			}
			if !withNode {
				s.node.kill()
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if !withNode {
				s.restartNode()
			}
			release()
			got := s.until(made.Name, ended)
			state := got.Status.ContainerStatuses[0].State.Terminated
			if got.Status.Phase != corev1.PodFailed || got.Status.Reason != "SupervisorLost" || state == nil || state.ExitCode != 137 {
				t.Errorf("the pod is %s, want Failed with a reason", describe(got))
			}
			if err := leftovers(string(made.UID)); err != nil {
				t.Errorf("a pod that counts as failed still runs: %v", err)
			}
			if s.jobEnded("lost") {
				t.Error("the job counts as complete")
			}
			if runs() != "ran\n" {
				t.Errorf("the job has written %q, want that it ran once", runs())
			}
		})
	}
}

// A supervisor that is asked to end ends its pod with all grace.
func TestSupervisorTerminated(t *testing.T) {
	s := newSpace(t)
	made := s.create(shellPod("polite", "trap 'echo bye; exit 3' TERM; echo up; while :; do tail -f /dev/null & wait; done"))
	s.until("polite", func(p *corev1.Pod) bool {
		text, _ := s.logs("polite", corev1.PodLogOptions{})
		return p.Status.Phase == corev1.PodRunning && text == "up\n"
	})
	pid, err := supervisor(made.UID)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got := s.until("polite", ended)
	if state := got.Status.ContainerStatuses[0].State.Terminated; got.Status.Reason != "Terminated" || state.ExitCode != 3 || s.output("polite") != "up\nbye\n" {
		t.Errorf("the pod is %s and printed %q", describe(got), s.output("polite"))
	}
}

// A node whose folder was wiped does not run anew what it ran before.
func TestRecordLost(t *testing.T) {
	s := newSpace(t)
	pod, runs, _ := oncePod(t, "wiped")
	made := s.create(pod)
	s.until("wiped", inPhase(corev1.PodRunning))
	s.node.kill()
	if out, err := exec.Command(s.binary, "stop", "--root", s.node.root(), "--purge").CombinedOutput(); err != nil {
		t.Fatalf("node stop: %v\n%s", err, out)
	}
	if err := leftovers(string(made.UID)); err != nil {
		t.Errorf("after node stop: %v", err)
	}
	s.restartNode()
	if got := s.until("wiped", ended); got.Status.Reason != "RecordLost" || runs() != "ran\n" {
		t.Errorf("the pod is %s and has written %q, want Failed and one line", describe(got), runs())
	}
}
