// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/hack/node/internal/image"
	"darkshift.io/infrared/hack/node/internal/record"
	"darkshift.io/infrared/hack/node/internal/resolve"
	"darkshift.io/infrared/hack/node/internal/volume"
)

// stepUnplanned looks after a pod that has no plan and therefore never ran, as
// far as this folder knows.
func (w *worker) stepUnplanned(ctx context.Context, pod *corev1.Pod, gone bool) (time.Duration, error) {
	switch {
	case gone:
		return 0, w.remove()
	case terminal(pod) && pod.DeletionTimestamp == nil:
		return 0, nil
	case pod.DeletionTimestamp != nil:
		if !terminal(pod) {
			if err := w.fail(ctx, pod, "NeverStarted", "the pod was to end before it had started"); err != nil {
				return 0, err
			}
		}
		return 0, w.release(ctx, pod)
	case pod.Status.StartTime != nil:
		// Only a planned pod gets a start time. The plan is lost, and with it how far
		// the pod came.
		return 0, w.fail(ctx, pod, "RecordLost", "the node's record of the pod is gone: it is not started again, as nobody knows how far it came")
	}
	if err := resolve.Check(pod); err != nil {
		return 0, w.fail(ctx, pod, "Unsupported", err.Error())
	}
	return w.prepare(ctx, pod)
}

// prepare makes the pod's volumes and its plan. What is missing may come, so a
// failure is shown and tried again.
func (w *worker) prepare(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	err := w.plan(ctx, pod)
	if err == nil {
		w.attempts = 0
		w.wake()
		return 0, nil
	}
	w.attempts++
	// The node authorizer learns with a delay which Secrets the pod refers to: the
	// first refusals mean nothing.
	const silent = 3
	if w.attempts > silent {
		if err := w.showWaiting(ctx, pod, err); err != nil {
			return 0, err
		}
	}
	return min(100*time.Millisecond<<min(w.attempts, 6), 5*time.Second), nil
}

func (w *worker) plan(ctx context.Context, pod *corev1.Pod) error {
	images, err := image.Load(w.agent.Images)
	if err != nil {
		return err
	}
	ip, err := w.agent.podIP(pod)
	if err != nil {
		return err
	}
	pod = pod.DeepCopy()
	pod.ManagedFields = nil
	now := metav1.NewTime(w.agent.Now())
	pod.Status = corev1.PodStatus{PodIP: ip, HostIP: HostIP, StartTime: &now}
	if err := w.folder.Make(); err != nil {
		return err
	}
	source := objects{w.agent.Client, w.agent.tokens}
	volumes, err := volume.Fill(ctx, source, pod, w.folder.Volume)
	if err != nil {
		return err
	}
	resolv, err := os.ReadFile("/etc/resolv.conf")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading resolv.conf: %w", err)
	}
	r := resolve.Resolver{Images: images, Objects: source, ServiceHost: w.agent.ServiceHost, ServicePort: w.agent.ServicePort, Resolv: string(resolv)}
	p := record.Plan{Pod: pod, PodIP: ip, Backoff: metav1.Duration{Duration: w.agent.Backoff}}
	if p.InitContainers, p.Containers, err = r.Containers(ctx, pod, volumes); err != nil {
		return err
	}
	w.noteLimits(pod)
	return w.folder.WritePlan(p)
}

// noteLimits says that limits are taken note of and not enforced.
func (w *worker) noteLimits(pod *corev1.Pod) {
	for _, c := range pod.Spec.Containers {
		if len(c.Resources.Limits) > 0 {
			w.agent.events.Event(pod, corev1.EventTypeNormal, "LimitsNotEnforced", "this node doesn't enforce the limits of its containers")
			return
		}
	}
}

// showWaiting shows on the pod why it doesn't start.
func (w *worker) showWaiting(ctx context.Context, pod *corev1.Pod, cause error) error {
	waiting := corev1.ContainerStateWaiting{Reason: "ContainerCreating", Message: cause.Error()}
	var reason *resolve.Reason
	event := "FailedMount"
	if errors.As(cause, &reason) {
		waiting.Reason, event = reason.Word, "Failed"
	}
	status := corev1.PodStatus{Phase: corev1.PodPending}
	for _, c := range pod.Spec.InitContainers {
		status.InitContainerStatuses = append(status.InitContainerStatuses, unstarted(c, waiting))
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, unstarted(c, waiting))
	}
	if changed, err := w.patch(ctx, pod, status); err != nil || !changed {
		return err
	}
	w.agent.events.Event(pod, corev1.EventTypeWarning, event, cause.Error())
	return nil
}

func unstarted(c corev1.Container, waiting corev1.ContainerStateWaiting) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: new(bool), State: corev1.ContainerState{Waiting: &waiting}}
}

// fail ends a pod that never ran here.
func (w *worker) fail(ctx context.Context, pod *corev1.Pod, reason, message string) error {
	status := corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message}
	status.ContainerStatuses, status.InitContainerStatuses = pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses
	changed, err := w.patch(ctx, pod, status)
	if err == nil && changed {
		w.agent.events.Event(pod, corev1.EventTypeWarning, reason, message)
	}
	return err
}
