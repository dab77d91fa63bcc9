// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// scope is one Cluster during one reconcile: the phases change its status, and it is written once at the end.
type scope struct {
	*v1alpha1.Cluster
	// before is the Cluster as it was read, for what turned in this reconcile.
	before *v1alpha1.Cluster
	// stored is the Cluster as the API server last had it, as the ground of the next patch.
	stored *v1alpha1.Cluster
	// retracted is not nil where the confirmation of a deletion was taken out since the last reconcile.
	retracted any
	// refused is what stood in the way of connecting in this reconcile, or nil.
	refused *refusal
	// unbuilt is why the builds could not be looked after in this reconcile, or nil. The rest goes on.
	unbuilt error
}

func newScope(cluster *v1alpha1.Cluster) *scope {
	return &scope{Cluster: cluster, before: cluster.DeepCopy(), stored: cluster.DeepCopy()}
}

// patch writes what change makes of the object's metadata and spec. The status in hand is not lost, though the answer of the API
// server carries the stored one. The lock matters: a merge patch replaces whole lists, such as the finalizers.
func (s *scope) patch(ctx context.Context, c client.Client, change func(*v1alpha1.Cluster)) error {
	changed := s.stored.DeepCopy()
	change(changed)
	lock := client.MergeFromWithOptions(s.stored, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, changed, lock, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return err
	}
	status := s.Status
	s.stored = changed
	s.Cluster = changed.DeepCopy()
	s.Status = status
	return nil
}

// patchStatus writes the status if it changed. The lock matters: a merge patch replaces whole lists, and a status made from a
// stale read must lose.
func (s *scope) patchStatus(ctx context.Context, c client.Client) error {
	if equality.Semantic.DeepEqual(s.stored.Status, s.Status) {
		return nil
	}
	changed := s.stored.DeepCopy()
	changed.Status = *s.Status.DeepCopy()
	lock := client.MergeFromWithOptions(s.stored, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, changed, lock, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	s.stored = changed
	return nil
}

// setConnected sets the condition Connected to True or False.
func (s *scope) setConnected(ok bool, reason, message string) {
	status := metav1.ConditionFalse
	if ok {
		status = metav1.ConditionTrue
	}
	s.set(v1alpha1.ConditionConnected, status, reason, message)
}

// refuse sets the condition Connected to what stands in the way: False, or Unknown where it is the plugin, which says nothing about the
// cluster. What is known of the cluster stays.
func (s *scope) refuse(r *refusal) {
	s.refused = r
	status := metav1.ConditionFalse
	if ofPlugin(r.reason) {
		status = metav1.ConditionUnknown
	}
	s.set(v1alpha1.ConditionConnected, status, r.reason, r.message)
}

// ofPlugin reports whether a reason is about the plugin alone: it does not run, or failed in the call.
func ofPlugin(reason string) bool {
	return reason == v1alpha1.ReasonProviderUnavailable || reason == v1alpha1.ReasonProviderFailed
}

// set sets a condition. Its time changes only with its status.
func (s *scope) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: short(message), ObservedGeneration: s.Generation,
	})
}

// condition is a copy of a condition as it stands now, or nil.
func (s *scope) condition(kind string) *metav1.Condition {
	return meta.FindStatusCondition(s.Status.Conditions, kind).DeepCopy()
}

// putBack undoes what was set since condition returned c, so that a second word on the same matter does not count as a turn.
func (s *scope) putBack(c *metav1.Condition) {
	if c == nil {
		return
	}
	for i := range s.Status.Conditions {
		if s.Status.Conditions[i].Type == c.Type {
			s.Status.Conditions[i] = *c
		}
	}
}

// connected is whether the condition Connected is True now.
func (s *scope) connected() bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionConnected)
}

// report records an event, and a line in the log, for each condition and for the step of the deletion that turned in this reconcile.
func (s *scope) report(ctx context.Context, recorder events.EventRecorder) {
	for _, now := range s.Status.Conditions {
		was := meta.FindStatusCondition(s.before.Status.Conditions, now.Type)
		if was != nil && was.Status == now.Status && was.Reason == now.Reason {
			continue
		}
		bad := now.Status == metav1.ConditionFalse && !awaited(now.Reason) || ofPlugin(now.Reason)
		s.event(ctx, recorder, bad, now.Reason, now.Type, now.Message)
	}
	now, was := s.Status.Deletion, s.before.Status.Deletion
	if now == nil || (was != nil && was.Step == now.Step && was.State == now.State) {
		return
	}
	bad := now.State == v1alpha1.StepStuck || now.State == v1alpha1.StepFailed || now.State == v1alpha1.StepWaitingOnYou
	s.event(ctx, recorder, bad, "Deletion"+string(now.State), "Delete", strings.TrimSpace(now.Step+" "+now.Message))
}

// awaited says of the reason of a False condition that nothing is wrong: that it is not connected yet is what the other condition says, the
// pull request is nobody's fault, and a plan waits for a person to read it.
func awaited(reason string) bool {
	switch reason {
	case v1alpha1.ReasonNotConnected, v1alpha1.ReasonAppOfAppsMissing, v1alpha1.ReasonNotBuilt:
		return true
	}
	return false
}

func (s *scope) event(ctx context.Context, recorder events.EventRecorder, bad bool, reason, action, note string) {
	kind := corev1.EventTypeNormal
	if bad {
		kind = corev1.EventTypeWarning
	}
	logf.FromContext(ctx).Info(note, "reason", reason)
	recorder.Eventf(s.Cluster, nil, kind, reason, action, "%s", limit(note, 1000))
}

// short keeps a message well below what a condition may hold.
func short(message string) string { return limit(message, 4096) }

func limit(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
