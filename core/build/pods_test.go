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
