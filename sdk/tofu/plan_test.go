// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

// TestPlanIsWhatIsApplied moves one thing after another and applies what was planned before.
func TestPlanIsWhatIsApplied(t *testing.T) {
	q := newRequest(t, provider.ActionPlan, small())
	q.set("names", []string{"a"})
	planned, _, _ := q.must(t)
	q = q.with(provider.ActionApply)
	q.Digest, q.Plan = planned.PlanDigest, planned.Plan.Reveal()

	tests := map[string]struct {
		reason string
		move   func(q *request)
		keep   bool // the saved plan goes along
		want   string
	}{
		"Variable":        {"Another size is another plan.", func(q *request) { q.set("size", "l") }, true, "changed since: the variables; plan again"},
		"VariableAnew":    {"Also without the plan.", func(q *request) { q.set("size", "l") }, false, "changed since: the variables; plan again"},
		"Module":          {"So is another module.", another("main.tf"), true, "changed since: the module or its version; plan again"},
		"ModuleCalled":    {"Also below its root.", another("inner/main.tf"), true, "changed since: the module or its version; plan again"},
		"AnotherPlan":     {"A plan under a digest that is not its own.", forgeDigest, true, "changed since: what would change; plan again"},
		"AnotherPlanAnew": {"Also without the plan.", forgeDigest, false, "changed since: what would change; plan again"},
		"NoDigest":        {"A plan alone says nothing of who saw it.", func(q *request) { q.Digest = "" }, true, "planDigest: is missing"},
		"BadDigest":       {"A typing error.", func(q *request) { q.Digest = "abc" }, false, "makes, of 64 digits 0-9a-f: plan again"},
		"BadPlan":         {"Something else in the Secret.", func(q *request) { q.Plan = "no plan" }, true, "plan: is no saved plan"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			moved := q
			tc.move(&moved)
			if !tc.keep {
				moved.Plan = ""
			}
			refused(t, tc.reason, moved, tc.want)
			if text, err := os.ReadFile(q.State); err == nil {
				t.Errorf("something was applied all the same:\n%s", text)
			}
		})
	}

	result, seen, _ := q.must(t)
	if len(result.Resources) != 1 || len(seen.of(provider.EventDone)) != 1 {
		t.Errorf("with nothing moved: %+v", result)
	}
	refused(t, "Somebody applied in between.", q, "changed since: the state; plan again")
	q.Plan = ""
	refused(t, "Also without the plan.", q, "changed since: the state; plan again")
}

// refused runs an apply that must not be carried out.
func refused(t *testing.T, reason string, q request, want string) {
	t.Helper()
	_, seen, _, err := q.run(t)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s\ngot %v, want %q", reason, err, want)
	}
	if strings.Contains(want, "plan again") != errors.Is(err, provider.Conflict) {
		t.Errorf("%s\ngot a %s", reason, provider.KindOf(err))
	}
	if started := seen.of(provider.EventStarted); len(started) > 0 {
		t.Errorf("%s\nand yet began %v", reason, started)
	}
}

// A plan that was not kept is applied where it comes out the same.
func TestPlanAnew(t *testing.T) {
	q := newRequest(t, provider.ActionPlan, small())
	q.set("names", []string{"a"})
	planned, _, _ := q.must(t)
	q = q.with(provider.ActionApply)
	q.Digest = planned.PlanDigest
	if result, _, _ := q.must(t); len(result.Resources) != 1 {
		t.Errorf("applied: %+v", result)
	}
}

func another(file string) func(q *request) {
	return func(q *request) {
		files := maps.Clone(q.Files)
		files[file] += "\n# another"
		q.Files = files
	}
}

func forgeDigest(q *request) { q.Digest = q.Digest[:3*quarter] + "0123456789abcdef" }

func TestOnlyOutputsChange(t *testing.T) {
	q := newRequest(t, provider.ActionApply, map[string]string{"main.tf": `
variable "v" {}
output "v" { value = var.v }
`})
	q.set("v", "one")
	q.must(t)
	q.set("v", "two")
	result, _, _ := q.must(t)
	if string(result.Outputs["v"]) != `"two"` || len(result.Changes) > 0 {
		t.Errorf("an output that alone changes is written: %s, %v", result.Outputs["v"], result.Changes)
	}
}

func TestBuiltInBackendDoesNotCount(t *testing.T) {
	files := small()
	files["backend.tf"] = `terraform { 
  backend "s3" { 
    bucket = "elsewhere"
  } 
}`
	q := newRequest(t, provider.ActionApply, files)
	q.set("names", []string{"a"})
	q.must(t)
	text, err := os.ReadFile(q.State)
	var s state
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil || len(s.things()) != 1 {
		t.Errorf("the state is not where the request says: %v, %+v", err, s)
	}
}
