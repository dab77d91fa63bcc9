// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import "testing"

func TestExpand(t *testing.T) {
	known := map[string]string{"A": "one", "B": "$(A)"}
	cases := map[string]struct{ reason, in, want string }{
		"Known":    {"a known name becomes its value", "x$(A)y", "xoney"},
		"Once":     {"a value is not expanded again", "$(B)", "$(A)"},
		"Unknown":  {"an unknown name stays", "$(NONE)", "$(NONE)"},
		"Escaped":  {"two dollars are one", "$$(A) $$$(A)", "$(A) $one"},
		"Open":     {"what is not closed stays", "$(A", "$(A"},
		"Single":   {"a dollar alone stays", "$ $x a$", "$ $x a$"},
		"Nothing":  {"no dollar, no change", "plain", "plain"},
		"Adjacent": {"one after the other", "$(A)$(A)", "oneone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := expand(tc.in, known); got != tc.want {
				t.Errorf("%s: %q became %q, want %q", tc.reason, tc.in, got, tc.want)
			}
		})
	}
}
