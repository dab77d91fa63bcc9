// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// TestLostSaysWhatMayBeLeft tells runs that may have made something from those that never could.
func TestLostSaysWhatMayBeLeft(t *testing.T) {
	t.Parallel()
	const left = "What it made until then"
	cases := map[string]struct {
		reason string
		action v1alpha1.Action
		left   bool
	}{
		"plan":    {"a plan makes nothing", v1alpha1.ActionPlan, false},
		"apply":   {"what an apply made has to be looked for", v1alpha1.ActionApply, true},
		"destroy": {"what a destroy did has to be looked for", v1alpha1.ActionDestroy, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, job := range []*batchv1.Job{nil, {}} {
				_, message := lost(&v1alpha1.Cluster{}, record{identity: identity{Job: "tofu-c-1", Action: tc.action}}, job, nil)
				if strings.Contains(message, left) != tc.left || !strings.Contains(message, "To go on") {
					t.Errorf("%q: %s", message, tc.reason)
				}
			}
		})
	}
}

// TestLostIsToldOnce is that a Job which we deleted to make way is not taken for one that a person deleted.
func TestLostIsToldOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		ended  string
		want   string
	}{
		"Unseen":       {"nobody saw it end, and its Job is gone", "", v1alpha1.ReasonRunLost},
		"Lost":         {"that it was lost was seen before", v1alpha1.ReasonRunLost, v1alpha1.ReasonRunLost},
		"Interrupted":  {"that it was cut off was seen before its Job made way", v1alpha1.ReasonInterrupted, v1alpha1.ReasonInterrupted},
		"StartRefused": {"it never began, which was seen before its Job made way", v1alpha1.ReasonStartRefused, v1alpha1.ReasonStartRefused},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record{identity: identity{Job: "tofu-c-1-apply", Action: v1alpha1.ActionApply}, ended: tc.ended}
			if got, message := lost(&v1alpha1.Cluster{}, r, nil, nil); got != tc.want || !strings.Contains(message, "To go on") {
				t.Errorf("%s: got %s %q", tc.reason, got, message)
			}
		})
	}
}
