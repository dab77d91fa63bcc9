// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func (s space) delete(name string, grace *int64) {
	s.t.Helper()
	if err := s.client.CoreV1().Pods(s.name).Delete(s.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: grace}); err != nil {
		s.t.Fatal(err)
	}
}

// lastState is how a pod was when its object went.
func (s space) lastState(name, since string, act func()) *corev1.Pod {
	s.t.Helper()
	w, err := s.client.CoreV1().Pods(s.name).Watch(s.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: since})
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Stop()
	act()
	for e := range w.ResultChan() {
		if e.Type == watch.Deleted {
			return e.Object.(*corev1.Pod)
		}
	}
	s.t.Fatal("the watch ended before the pod did")
	return nil
}

func TestDeletion(t *testing.T) {
	five, hour, zero := int64(5), int64(3600), int64(0)
	cases := map[string]struct {
		reason string
		script string
		grace  *int64
		code   int32
		printd string
	}{
		"Handled": {reason: "SIGTERM comes first, and the program may end well in its own time", grace: &hour, script: "trap 'echo bye; exit 0' TERM; echo up; while :; do read -t 0.05 x < <(tail -f /dev/null); done", code: 0},
		"Ignored": {reason: "SIGKILL comes when the grace is over", grace: &five, script: "trap '' TERM; echo up; exec tail -f /dev/null", code: 137},
		"NoTime":  {reason: "a pod deleted by force is killed at once", grace: &zero, script: "trap '' TERM; echo up; exec tail -f /dev/null", code: 137},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSpace(t)
			pod := shellPod("end", tc.script)
			pod.Spec.Containers[0].Command = []string{"bash"}
			made := s.create(pod)
			running := s.until("end", func(p *corev1.Pod) bool {
				text, _ := s.logs("end", corev1.PodLogOptions{})
				return p.Status.Phase == corev1.PodRunning && text == "up\n"
			})
			last := s.lastState("end", running.ResourceVersion, func() { s.delete("end", tc.grace) })
			s.gone(s.node, made)
			if name == "NoTime" {
				return // nobody waited for how it ended
			}
			state := last.Status.ContainerStatuses[0].State.Terminated
			if state == nil || state.ExitCode != tc.code {
				t.Errorf("%s: the object went as %s", tc.reason, describe(last))
			}
		})
	}
}

// A later deletion with less time shortens the grace.
func TestDeletionHurried(t *testing.T) {
	s := newSpace(t)
	made := s.create(shellPod("slow", "trap '' TERM; exec tail -f /dev/null"))
	s.until("slow", inPhase(corev1.PodRunning))
	hour, one := int64(3600), int64(1)
	s.delete("slow", &hour)
	s.until("slow", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	s.delete("slow", &one)
	s.gone(s.node, made)
}

// The name is free again only when the processes are gone, and the new pod is a pod
// of its own.
func TestSameNameAgain(t *testing.T) {
	s := newSpace(t)
	pod, _, _ := oncePod(t, "twin")
	hour := int64(3600)
	pod.Spec.TerminationGracePeriodSeconds = &hour
	pod.Spec.Containers[0].Args[1] = "trap 'read -t 0.5 x < /host/fifo; echo over > /host/over; exit 0' TERM; echo up; while :; do read -t 0.05 x < /host/fifo; done"
	first := s.create(pod)
	s.until("twin", func(*corev1.Pod) bool {
		text, _ := s.logs("twin", corev1.PodLogOptions{})
		return text == "up\n"
	})
	s.delete("twin", nil)
	eventually(t, func() error {
		_, err := s.client.CoreV1().Pods(s.name).Create(t.Context(), shellPod("twin", "exit 5"), metav1.CreateOptions{})
		return err
	})
	if _, err := os.Stat(filepath.Join(pod.Spec.Volumes[0].HostPath.Path, "over")); err != nil {
		t.Errorf("the name was free before the first pod had ended: %v", err)
	}
	if got := s.until("twin", ended); got.Status.ContainerStatuses[0].State.Terminated.ExitCode != 5 {
		t.Errorf("the second pod is %s", describe(got))
	}
	s.gone(s.node, first)
}

func TestDeletedWhileInitialising(t *testing.T) {
	s := newSpace(t)
	pod := shellPod("init", "echo never")
	pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "shell", Args: []string{"-c", "exec tail -f /dev/null"}}}
	made := s.create(pod)
	s.until("init", func(p *corev1.Pod) bool {
		return len(p.Status.InitContainerStatuses) == 1 && p.Status.InitContainerStatuses[0].State.Running != nil
	})
	s.delete("init", nil)
	s.gone(s.node, made)
}

func TestDeletedWhileNodeIsDead(t *testing.T) {
	s := newSpace(t)
	made := s.create(shellPod("behind", "exec tail -f /dev/null"))
	forced := s.create(shellPod("forced", "exec tail -f /dev/null"))
	s.until("behind", inPhase(corev1.PodRunning))
	s.until("forced", inPhase(corev1.PodRunning))
	s.node.kill()
	zero := int64(0)
	s.delete("behind", nil)
	s.delete("forced", &zero)
	s.restartNode()
	s.gone(s.node, made)
	s.gone(s.node, forced)
}

func TestEviction(t *testing.T) {
	s := newSpace(t)
	made := s.create(shellPod("evicted", "exec tail -f /dev/null"))
	s.until("evicted", inPhase(corev1.PodRunning))
	if err := s.client.PolicyV1().Evictions(s.name).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: s.name}}); err != nil {
		t.Fatal(err)
	}
	s.gone(s.node, made)
}

// A Node object that somebody deletes comes back, and what runs runs on.
func TestNodeObjectDeleted(t *testing.T) {
	s := newSpace(t)
	pod, runs, release := oncePod(t, "steady")
	s.create(pod)
	s.until("steady", inPhase(corev1.PodRunning))
	nodes := s.client.CoreV1().Nodes()
	before, err := nodes.Get(t.Context(), s.node.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := nodes.Delete(t.Context(), s.node.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		now, err := nodes.Get(t.Context(), s.node.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.UID == before.UID {
			return fmt.Errorf("the node is still the one before")
		}
		return nil
	})
	if err := s.node.waitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	release()
	if got := s.until("steady", ended); got.Status.Phase != corev1.PodSucceeded || runs() != "ran\n" {
		t.Errorf("the pod is %s and has written %q", describe(got), runs())
	}
}

// What the node doesn't know is refused in words, and what is missing is waited for.
func TestWaitingAndRefused(t *testing.T) {
	s := newSpace(t)
	unknown := shellPod("unknown", "")
	unknown.Spec.Containers[0].Image = "example.invalid/nothing:v1"
	s.create(unknown)
	got := s.until("unknown", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Reason == "ErrImagePull"
	})
	want := `container "main": image "example.invalid/nothing:v1" is not in this node's table of images: add it to the file that --images names`
	if m := got.Status.ContainerStatuses[0].State.Waiting.Message; m != want || got.Status.Phase != corev1.PodPending {
		t.Errorf("a pod with an unknown image is %s", describe(got))
	}

	hooked := shellPod("hooked", "")
	hooked.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	s.create(hooked)
	if got := s.until("hooked", ended); got.Status.Reason != "Unsupported" || got.Status.Message == "" {
		t.Errorf("a pod that the node can't run is %s", describe(got))
	}

	late := shellPod("late", "echo $WORD")
	late.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "WORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "late"}, Key: "word",
	}}}}
	s.create(late)
	s.until("late", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting.Reason == "CreateContainerConfigError"
	})
	if _, err := s.client.CoreV1().Secrets(s.name).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Data: map[string][]byte{"word": []byte("come")}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := s.until("late", ended); got.Status.Phase != corev1.PodSucceeded || s.output("late") != "come\n" {
		t.Errorf("a pod whose Secret came late is %s", describe(got))
	}

	zero := int64(0)
	s.delete("unknown", nil)
	eventually(t, func() error {
		_, err := s.get("unknown")
		if err == nil {
			return errors.New("a pod that never started is not gone")
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	s.delete("hooked", &zero)
}
