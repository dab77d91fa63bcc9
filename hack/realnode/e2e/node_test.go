// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"context"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// patience is how long a test waits for one state, which may be the end of a whole run while three others go.
const patience = 2 * time.Minute

// named selects one object.
func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
}

// awaitPod returns the pod as soon as it is as wanted.
func awaitPod(t *testing.T, namespace string, selected metav1.ListOptions, wanted func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pod, err := await(ctx, shared.client.CoreV1().Pods(namespace), selected, wanted)
	if err != nil {
		shared.explain()
		if pod != nil {
			t.Logf("the pod's status at last: %+v", pod.Status)
		}
		t.Fatal(err)
	}
	return pod
}

func running(pod *corev1.Pod) bool {
	return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil
}

func terminated(pod *corev1.Pod) bool {
	return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Terminated != nil
}

// A run must live through whatever happens to the node's own programs: containerd and the kubelet die with their parent here.
func TestPodOutlivesTheNode(t *testing.T) {
	const name = "lives-on"
	pods := shared.client.CoreV1().Pods(metav1.NamespaceDefault)
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "shell", Image: tofuImage,
			Command: []string{"/bin/sh", "-c", `trap "exit 7" TERM; while :; do sleep 600 & wait; done`},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := awaitPod(t, metav1.NamespaceDefault, named(name), running)
	processes := processesOf(t, before)
	if err := shared.endNode(syscall.SIGKILL); err == nil {
		t.Fatal("the node ended in order, though it was killed")
	}
	if got := processesOf(t, before); len(got) == 0 || got[0] != processes[0] {
		t.Errorf("after the node was killed the pod's processes are %v, were %v", got, processes)
	}
	if err := shared.startNode(t.Context()); err != nil {
		shared.explain()
		t.Fatal(err)
	}
	after := awaitPod(t, metav1.NamespaceDefault, named(name), running)
	if was, is := before.Status.ContainerStatuses[0].ContainerID, after.Status.ContainerStatuses[0].ContainerID; was != is {
		t.Errorf("the node that came back runs container %s, was %s", is, was)
	}
	if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ended := awaitPod(t, metav1.NamespaceDefault, named(name), terminated)
	if code := ended.Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 7 {
		t.Errorf("the container ended with %d, wanted the 7 of its handler of SIGTERM", code)
	}
}
