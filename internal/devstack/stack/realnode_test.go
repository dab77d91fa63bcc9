// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestKindOfNodeChanges(t *testing.T) {
	cases := map[string]struct {
		reason, was, is, want string
		running               bool
	}{
		"the same":          {reason: "nothing changes", was: NodeReal, is: NodeReal, running: true},
		"process to none":   {reason: "the API server needs nothing of either", was: NodeProcess, is: NodeNone, running: true},
		"while it is down":  {reason: "the API server is started anew", was: NodeProcess, is: NodeReal},
		"process to real":   {reason: "logs of pods could not be had", was: NodeProcess, is: NodeReal, running: true, want: "the stack runs with --node=process, which can't be changed to real while it does: run ir dev down first"},
		"real to an unsaid": {reason: "nor can it be left out", was: NodeReal, is: "", running: true, want: "the stack runs with --node=real, which can't be changed to none while it does: run ir dev down first"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := checkKindChange(c.was, c.is, c.running); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

// A real node makes an image of each file, so a whole system would take minutes and gigabytes.
func TestImagesOfARealNodeAreSmall(t *testing.T) {
	for inside := range singleTools() {
		if filepath.Dir(inside) == "/" || strings.HasSuffix(inside, "/bin") || strings.HasSuffix(inside, "/lib") {
			t.Errorf("%s is a folder of the whole system", inside)
		}
	}
}
