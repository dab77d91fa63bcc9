// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPodIP(t *testing.T) {
	a := New(Options{})
	seen := map[string]bool{}
	for i := range 2000 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(rune(i))}}
		ip, err := a.podIP(pod)
		if err != nil {
			t.Fatal(err)
		}
		if seen[ip] {
			t.Fatalf("two pods have the address %s", ip)
		}
		seen[ip] = true
		if !netip.MustParsePrefix("127.64.0.0/10").Contains(netip.MustParseAddr(ip)) {
			t.Fatalf("the address %s is not one of the pods'", ip)
		}
		if again, err := a.podIP(pod); err != nil || again != ip {
			t.Fatalf("the same pod has %s and then %s, %v", ip, again, err)
		}
	}
	host := &corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true}}
	if ip, err := a.podIP(host); err != nil || ip != HostIP {
		t.Errorf("a pod on the host's network has %s, %v", ip, err)
	}
}

func TestMergeKeepsConditionsOfOthers(t *testing.T) {
	have := []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse, ObservedGeneration: 3}, {Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	got := merge(have, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue}})
	want := []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, ObservedGeneration: 3},
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestGrace(t *testing.T) {
	five, seven := int64(5), int64(7)
	cases := map[string]struct {
		reason string
		pod    corev1.Pod
		want   int64
	}{
		"Deletion": {"whoever deletes decides", corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionGracePeriodSeconds: &five}, Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &seven}}, 5},
		"Spec":     {"the pod says it otherwise", corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &seven}}, 7},
		"Default":  {"Kubernetes' default, where nobody says", corev1.Pod{}, 30},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := grace(&tc.pod); got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// A container that ran is shown as ended, one that had ended keeps its code.
func TestLoseContainers(t *testing.T) {
	now := metav1.NewTime(time.Unix(100, 0))
	list := []corev1.ContainerStatus{
		{Name: "ran", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}},
		{Name: "ended", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}},
	}
	loseContainers(list, now)
	if s := list[0]; s.Ready || s.State.Running != nil || s.State.Terminated == nil || s.State.Terminated.ExitCode != 137 || s.State.Terminated.StartedAt != now {
		t.Errorf("the container that ran is %+v", s)
	}
	if s := list[1].State.Terminated; s.ExitCode != 3 {
		t.Errorf("the container that had ended is %+v", s)
	}
}
