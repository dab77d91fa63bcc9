// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/deletion"
)

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// confirmed is a Cluster whose annotation was set at a time, as kubectl annotate leaves it.
func confirmed(at time.Time) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{}
	c.Name = "edge"
	c.Annotations = map[string]string{v1alpha1.AnnotationConfirmDelete: "edge"}
	fields := `".":{},"f:` + v1alpha1.AnnotationConfirmDelete + `":{}`
	when := metav1.NewTime(at)
	c.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-annotate", Time: &when,
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{` + fields + `}}}`),
	}}
	return c
}

func TestConfirm(t *testing.T) {
	seen := func(c *v1alpha1.Cluster, at time.Time) *v1alpha1.Cluster {
		c.Status.Confirmation = &v1alpha1.Confirmation{SeenAt: metav1.NewTime(at)}
		return c
	}
	other := confirmed(noon())
	other.Annotations[v1alpha1.AnnotationConfirmDelete] = "edge-2"
	unmarked := confirmed(noon())
	unmarked.ManagedFields = nil
	cases := map[string]struct {
		reason    string
		cluster   *v1alpha1.Cluster
		now       time.Time
		seen      time.Time
		expired   bool
		left      time.Duration
		retracted bool
	}{
		"just set":    {"it counts from when it was set", confirmed(noon()), noon().Add(time.Second), noon(), false, 10*time.Minute - time.Second, false},
		"seen late":   {"an operator that was away doesn't make it longer", confirmed(noon()), noon().Add(9 * time.Minute), noon(), false, time.Minute, false},
		"in git":      {"a year later it counts no more", confirmed(noon()), noon().AddDate(1, 0, 0), noon(), true, 0, false},
		"ten minutes": {"at ten minutes it has ended", seen(confirmed(noon()), noon()), noon().Add(10 * time.Minute), noon(), true, 0, false},
		"unknown":     {"where nobody wrote it down, it counts from now", unmarked, noon(), noon(), false, 10 * time.Minute, false},
		"set anew":    {"out and in again between two looks", seen(confirmed(noon().Add(time.Hour)), noon()), noon().Add(time.Hour + time.Second), noon().Add(time.Hour), false, 10*time.Minute - time.Second, true},
		"same hand":   {"a newer time alone may be that of anything else the same hand did", seen(confirmed(noon().Add(time.Hour)), noon()), noon().Add(time.Hour + time.Second), noon(), true, 0, false},
		"other name":  {"another Cluster's name is no confirmation", other, noon(), time.Time{}, false, 0, true},
		"none":        {"no annotation", seen(&v1alpha1.Cluster{}, noon()), noon(), time.Time{}, false, 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.cluster.Name == "" {
				tc.cluster.Name = "edge"
			}
			left := deletion.Confirm(tc.cluster, tc.now, tc.retracted)
			got := tc.cluster.Status.Confirmation
			if tc.seen.IsZero() {
				if got != nil || left != 0 {
					t.Errorf("%s: %+v, %s", tc.reason, got, left)
				}
				return
			}
			if got == nil || !got.SeenAt.Time.Equal(tc.seen) || got.Expired != tc.expired || left != tc.left {
				t.Errorf("%s: %+v, again in %s; want seen at %s, expired %v, again in %s", tc.reason, got, left, tc.seen, tc.expired, tc.left)
			}
		})
	}
}

func TestConfirmed(t *testing.T) {
	cases := map[string]struct {
		reason string
		seen   time.Duration // before the deletion; negative: after it
		want   bool
	}{
		"just before":     {"as a person does it", time.Second, true},
		"ten minutes":     {"in time", 10 * time.Minute, true},
		"too long before": {"left in git", 10*time.Minute + time.Second, false},
		"after":           {"a deletion that was not confirmed is confirmed later", -time.Hour, true},
	}
	for name, tc := range cases {
		deleted := metav1.NewTime(noon())
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge", DeletionTimestamp: &deleted}}
		if deletion.Confirmed(c) {
			t.Error("without a word it is not confirmed")
		}
		c.Status.Confirmation = &v1alpha1.Confirmation{SeenAt: metav1.NewTime(noon().Add(-tc.seen))}
		if got := deletion.Confirmed(c); got != tc.want {
			t.Errorf("%s: %v: %s", name, got, tc.reason)
		}
	}
	if words := deletion.HowToConfirm(confirmed(noon())); !strings.Contains(words, v1alpha1.AnnotationConfirmDelete+"- && ") {
		t.Errorf("an annotation that stands must be taken out first: %s", words)
	}
}
