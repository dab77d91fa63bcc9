// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

func TestInterruptedSaysWhatMayBeLeft(t *testing.T) {
	for action, test := range map[provider.Action]struct{ reason, want string }{
		provider.ActionPlan:    {"a plan makes nothing", "nothing was made"},
		provider.ActionApply:   {"what an apply made is not lost", "what was made is in the state or reported"},
		provider.ActionDestroy: {"nor is what a destroy left", "what was made is in the state or reported"},
	} {
		t.Run(string(action), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			r := &run{req: provider.BuildRequest{Action: action}}
			err := r.command(ctx, call{step: "planning"})
			if !errors.Is(err, provider.Unavailable) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "planning was interrupted; "+test.want) {
				t.Errorf("%v: %s", err, test.reason)
			}
		})
	}
}
