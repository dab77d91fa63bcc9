// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"darkshift.io/infrared/hack/node/internal/record"
	"darkshift.io/infrared/hack/node/internal/volume"
)

// publish shows a planned pod's status on its object.
func (w *worker) publish(ctx context.Context, pod *corev1.Pod, plan record.Plan, status corev1.PodStatus) error {
	if status.Phase == "" {
		status.Phase = corev1.PodPending // the supervisor has said nothing yet
	}
	status.StartTime = plan.Pod.Status.StartTime
	status.HostIP, status.HostIPs = HostIP, []corev1.HostIP{{IP: HostIP}}
	status.PodIP, status.PodIPs = plan.PodIP, []corev1.PodIP{{IP: plan.PodIP}}
	changed, err := w.patch(ctx, pod, status)
	if err == nil && changed && status.Reason == "SupervisorLost" {
		w.agent.events.Event(pod, corev1.EventTypeWarning, status.Reason, status.Message)
	}
	return err
}

// patch makes the object's status what it should be, and says whether it was
// something else. Conditions of others stay, and a pod that has ended stays ended.
func (w *worker) patch(ctx context.Context, pod *corev1.Pod, want corev1.PodStatus) (changed bool, err error) {
	if terminal(pod) {
		want.Phase, want.Reason, want.Message = pod.Status.Phase, pod.Status.Reason, pod.Status.Message
	}
	want.QOSClass, want.ObservedGeneration = pod.Status.QOSClass, pod.Status.ObservedGeneration
	want.NominatedNodeName = pod.Status.NominatedNodeName
	want.Conditions = merge(pod.Status.Conditions, want.Conditions)
	if equality.Semantic.DeepEqual(pod.Status, want) {
		return false, nil
	}
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return false, fmt.Errorf("writing the pod's status: %w", err)
	}
	// With the UID, so that a later pod of the same name is never meant.
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: want})
	if err != nil {
		return false, fmt.Errorf("writing the pod's status: %w", err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return false, fmt.Errorf("writing the pod's status: %w", err)
	}
	_, err = w.agent.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // another pod has the name, or none: the news is on its way
	}
	return err == nil, err
}

// merge keeps the conditions that are not ours, and the order of those there are.
func merge(have, ours []corev1.PodCondition) []corev1.PodCondition {
	out := slices.Clone(have)
	for _, c := range ours {
		i := slices.IndexFunc(out, func(h corev1.PodCondition) bool { return h.Type == c.Type })
		if i < 0 {
			out = append(out, c)
			continue
		}
		c.LastProbeTime, c.ObservedGeneration = out[i].LastProbeTime, out[i].ObservedGeneration
		out[i] = c
	}
	return out
}

// release lets the object of a pod go of which nothing runs any more.
func (w *worker) release(ctx context.Context, pod *corev1.Pod) error {
	now := int64(0)
	err := w.agent.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// refresh brings the volumes of a running pod up to date, every now and then. What can't
// be read now stays as it was.
func (w *worker) refresh(ctx context.Context, pod *corev1.Pod, plan record.Plan) (time.Duration, error) {
	if pod == nil || pod.DeletionTimestamp != nil {
		return 0, nil
	}
	now := w.agent.Now()
	if left := w.agent.Refresh - now.Sub(w.refreshed); left > 0 && !w.refreshed.IsZero() {
		return left, nil
	}
	fresh := pod.DeepCopy()
	fresh.Status.PodIP, fresh.Status.HostIP = plan.PodIP, HostIP
	if !w.refreshed.IsZero() || w.following != nil {
		if err := volume.Refresh(ctx, objects{w.agent.Client, w.agent.tokens}, fresh, w.folder.Volume); err != nil && ctx.Err() == nil {
			w.agent.Log.Warn("bringing a pod's volumes up to date", "uid", w.uid, "error", err)
		}
	}
	w.refreshed = now
	return w.agent.Refresh, nil
}
