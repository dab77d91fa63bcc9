// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// scope is one Provider during one reconcile: its status is changed in hand, and written once at the end.
type scope struct {
	*v1alpha1.Provider
	// before is the Provider as it was read.
	before *v1alpha1.Provider
	// stored is the Provider as the API server last had it, as the ground of the next patch.
	stored *v1alpha1.Provider
	// verdict is what became of the plugin.
	verdict verdict
}

func newScope(p *v1alpha1.Provider) *scope {
	return &scope{Provider: p, before: p.DeepCopy(), stored: p.DeepCopy()}
}

// patchFinalizers writes a change of the finalizers. The lock matters: a merge patch replaces the whole list.
func (s *scope) patchFinalizers(ctx context.Context, c client.Client, change func(client.Object, string) bool) error {
	changed := s.stored.DeepCopy()
	change(changed, v1alpha1.FinalizerPlugin)
	lock := client.MergeFromWithOptions(s.stored, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, changed, lock, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing finalizers: %w", err)
	}
	s.stored, s.Provider = changed, changed.DeepCopy()
	return nil
}

// patchStatus writes the status if it changed. A status made from a stale read must lose, hence the lock.
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

// set sets the condition Healthy. Its time changes only with its status.
func (s *scope) set(status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionHealthy, Status: status, Reason: reason, Message: message, ObservedGeneration: s.Generation,
	})
}

func (s *scope) healthy() *metav1.Condition {
	return meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionHealthy)
}

// report records an event, and a line in the log, when the health turned in this reconcile.
func (s *scope) report(ctx context.Context, recorder events.EventRecorder) {
	now, was := s.healthy(), meta.FindStatusCondition(s.before.Status.Conditions, v1alpha1.ConditionHealthy)
	if now == nil || (was != nil && was.Status == now.Status && was.Reason == now.Reason) {
		return
	}
	kind := corev1.EventTypeNormal
	if now.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	logf.FromContext(ctx).Info(now.Message, "reason", now.Reason)
	recorder.Eventf(s.Provider, nil, kind, now.Reason, v1alpha1.ConditionHealthy, "%s", limit(now.Message, 1000))
}

func limit(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
