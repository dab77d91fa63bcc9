// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestReadiness(t *testing.T) {
	s := newSpace(t)
	port := intstr.FromString("web")
	probes := map[string]corev1.ProbeHandler{
		"http": {HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: port}},
		"exec": {Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/host/healthy"}}},
	}
	for name, handler := range probes {
		t.Run(name, func(t *testing.T) {
			s := space{s.stack, t, s.name}
			pod := shellPod(name, "")
			c := &pod.Spec.Containers[0]
			c.Image, c.Args, c.Command = "program", []string{"8080", "/host/healthy"}, []string{"/program", programArg}
			if name == "exec" {
				c.Image, c.Args, c.Command = "shell", []string{"-c", "exec tail -f /dev/null"}, nil
			}
			c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: handler, PeriodSeconds: 1, FailureThreshold: 1}
			dir := hostFolder(t, pod)
			s.create(pod)
			ready := func(want bool) func(*corev1.Pod) bool {
				return func(p *corev1.Pod) bool {
					for _, c := range p.Status.Conditions {
						if c.Type == corev1.PodReady {
							return (c.Status == corev1.ConditionTrue) == want && p.Status.Phase == corev1.PodRunning
						}
					}
					return false
				}
			}
			s.until(name, ready(false))
			writeFile(t, dir+"/healthy")
			s.until(name, ready(true))
			removeFile(t, dir+"/healthy")
			if got := s.until(name, ready(false)); got.Status.ContainerStatuses[0].RestartCount != 0 {
				t.Errorf("a pod that is not ready was started again: %s", describe(got))
			}
		})
	}
}

func TestLiveness(t *testing.T) {
	s := newSpace(t)
	pod := shellPod("live", "")
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	c := &pod.Spec.Containers[0]
	c.Image, c.Args, c.Command = "program", []string{"8080", "/host/healthy"}, []string{"/program", programArg}
	tcp := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}
	c.StartupProbe = &corev1.Probe{ProbeHandler: tcp, PeriodSeconds: 1, FailureThreshold: 60}
	c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromInt32(8080)}}, PeriodSeconds: 1, FailureThreshold: 2}
	dir := hostFolder(t, pod)
	writeFile(t, dir+"/healthy")
	s.create(pod)
	s.until("live", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].Ready
	})
	removeFile(t, dir+"/healthy")
	got := s.until("live", func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount > 0 })
	last := got.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || !strings.Contains(last.Message, "the liveness probe failed: the answer was 503") {
		t.Errorf("the pod is %s after %+v, want why it was ended", describe(got), last)
	}
	writeFile(t, dir+"/healthy")
	s.until("live", func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].Ready })
}

func TestStartup(t *testing.T) {
	s := newSpace(t)
	pod := shellPod("slow", "exec tail -f /dev/null")
	never := corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}
	pod.Spec.Containers[0].StartupProbe = &corev1.Probe{ProbeHandler: never, PeriodSeconds: 1, FailureThreshold: 2}
	s.create(pod)
	got := s.until("slow", ended)
	state := got.Status.ContainerStatuses[0].State.Terminated
	if got.Status.Phase != corev1.PodFailed || !strings.Contains(state.Message, "the startup probe failed: exit code 1") {
		t.Errorf("the pod is %s", describe(got))
	}
}
