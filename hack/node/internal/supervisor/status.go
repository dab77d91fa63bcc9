// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/hack/node/internal/record"
)

// statusLocked is all that is known of the pod.
func (p *pod) statusLocked() record.Status {
	s := record.Status{Ended: p.ended}
	for _, c := range p.init {
		c.refresh(true)
		s.Pod.InitContainerStatuses = append(s.Pod.InitContainerStatuses, *c.status.DeepCopy())
	}
	for _, c := range p.main {
		c.refresh(false)
		s.Pod.ContainerStatuses = append(s.Pod.ContainerStatuses, *c.status.DeepCopy())
	}
	for _, c := range slices.Concat(p.init, p.main) {
		if c.box != nil {
			s.Running = append(s.Running, c.process)
		}
	}
	s.Pod.Phase = p.phase()
	if p.stop != nil && p.stop.Reason != "" {
		s.Pod.Reason, s.Pod.Message = p.stop.Reason, p.stop.Message
		if p.ended {
			s.Pod.Phase = corev1.PodFailed
		}
	}
	p.judge(s.Pod.Phase)
	s.Pod.Conditions = slices.Clone(p.conditions)
	return s
}

// refresh derives what follows from the rest.
func (c *container) refresh(init bool) {
	c.status.Ready = c.status.State.Running != nil && c.passed && *c.status.Started
	if t := c.status.State.Terminated; init && t != nil {
		c.status.Ready = t.ExitCode == 0
	}
}

// phase sums the containers up as the kubelet does.
func (p *pod) phase() corev1.PodPhase {
	if !p.initialised() {
		if p.ended {
			return corev1.PodFailed
		}
		return corev1.PodPending
	}
	var waiting, failed int
	for _, c := range p.main {
		t := c.status.State.Terminated
		switch {
		case t != nil && t.ExitCode != 0:
			failed++
		case t == nil && c.status.State.Running == nil && c.status.LastTerminationState.Terminated == nil:
			waiting++
		}
	}
	switch {
	case p.ended && failed == 0 && waiting == 0:
		return corev1.PodSucceeded
	case p.ended:
		return corev1.PodFailed
	case waiting > 0:
		return corev1.PodPending
	default:
		return corev1.PodRunning
	}
}

func (p *pod) initialised() bool {
	return !slices.ContainsFunc(p.init, func(c *container) bool {
		t := c.status.State.Terminated
		return t == nil || t.ExitCode != 0
	})
}

// judge brings the conditions up to date.
func (p *pod) judge(phase corev1.PodPhase) {
	p.condition(corev1.PodReadyToStartContainers, !p.ended, "", "")
	done := phase == corev1.PodSucceeded
	initialised, why, what := p.initialised(), "", ""
	switch {
	case !initialised:
		why, what = "ContainersNotInitialized", "not completed: "+names(p.init, func(c *container) bool { return !c.status.Ready })
	case done:
		why = "PodCompleted"
	}
	p.condition(corev1.PodInitialized, initialised, why, what)
	unready := names(p.main, func(c *container) bool { return !c.status.Ready })
	why, what = "", ""
	switch {
	case done:
		why = "PodCompleted"
	case phase == corev1.PodFailed:
		why = "PodFailed"
	case unready != "":
		why, what = "ContainersNotReady", "not ready: "+unready
	}
	p.condition(corev1.ContainersReady, unready == "", why, what)
	p.condition(corev1.PodReady, unready == "", why, what)
}

func names(list []*container, which func(*container) bool) string {
	var out []string
	for _, c := range list {
		if which(c) {
			out = append(out, c.plan.Name)
		}
	}
	return strings.Join(out, ", ")
}

// condition sets one condition; its time moves only with its status.
func (p *pod) condition(kind corev1.PodConditionType, yes bool, reason, message string) {
	status := corev1.ConditionFalse
	if yes {
		status = corev1.ConditionTrue
	}
	for i := range p.conditions {
		c := &p.conditions[i]
		if c.Type != kind {
			continue
		}
		if c.Status != status {
			c.Status, c.LastTransitionTime = status, metav1.NewTime(p.now())
		}
		c.Reason, c.Message = reason, message
		return
	}
	p.conditions = append(p.conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(p.now())})
}
