// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

// TestPlanIsWhatIsApplied plans, moves one thing, and applies what was planned.
func TestPlanIsWhatIsApplied(t *testing.T) {
	tests := map[string]struct {
		reason string
		move   func(t *testing.T, q *request)
		keep   bool // the saved plan goes along
		want   string
	}{
		"Nothing":         {"The saved plan is applied.", func(*testing.T, *request) {}, true, ""},
		"NothingAnew":     {"A plan that was not kept comes out the same.", func(*testing.T, *request) {}, false, ""},
		"Variable":        {"Another size is another plan.", func(_ *testing.T, q *request) { q.set("size", "l") }, true, "changed since: the variables; plan again"},
		"VariableAnew":    {"Also without the plan.", func(_ *testing.T, q *request) { q.set("size", "l") }, false, "changed since: the variables; plan again"},
		"Module":          {"So is another module.", moveModule, true, "changed since: the module or its version; plan again"},
		"ModuleCalled":    {"Also below its root.", moveInner, true, "changed since: the module or its version; plan again"},
		"State":           {"Somebody applied in between.", moveState, true, "changed since: the state; plan again"},
		"StateAnew":       {"Also without the plan.", moveState, false, "changed since: the state; plan again"},
		"AnotherPlan":     {"A plan under a digest that is not its own.", forgeDigest, true, "changed since: what would change; plan again"},
		"AnotherPlanAnew": {"Also without the plan.", forgeDigest, false, "changed since: what would change; plan again"},
		"NoDigest":        {"A plan alone says nothing of who saw it.", func(_ *testing.T, q *request) { q.Digest = "" }, true, "planDigest: is missing"},
		"BadDigest":       {"A typing error.", func(_ *testing.T, q *request) { q.Digest = "abc" }, false, "planDigest: is no digest"},
		"BadPlan":         {"Something else in the Secret.", func(_ *testing.T, q *request) { q.Plan = "no plan" }, true, "plan: is no saved plan"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := newRequest(t, provider.ActionPlan, small())
			q.set("names", []string{"a"})
			planned, _, _ := q.must(t)
			q = q.with(provider.ActionApply)
			q.Digest, q.Plan = planned.PlanDigest, planned.Plan.Reveal()
			tc.move(t, &q)
			if !tc.keep {
				q.Plan = ""
			}
			before, _ := os.ReadFile(q.State)
			result, seen, _, err := q.run(t)
			if tc.want == "" {
				if err != nil || len(result.Resources) != 1 || len(seen.of(provider.EventDone)) != 1 {
					t.Fatalf("%s\ngot %v: %+v", tc.reason, err, result)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.want)
			}
			if strings.Contains(tc.want, "plan again") != errors.Is(err, provider.Conflict) {
				t.Errorf("%s\ngot a %s", tc.reason, provider.KindOf(err))
			}
			after, _ := os.ReadFile(q.State)
			if diff := cmp.Diff(string(before), string(after)); diff != "" {
				t.Errorf("something was applied all the same:\n%s", diff)
			}
		})
	}
}

func moveModule(_ *testing.T, q *request) { q.Files["main.tf"] += "\n# another" }

func moveInner(_ *testing.T, q *request) { q.Files["inner/main.tf"] += "\n# another" }

func moveState(t *testing.T, q *request) {
	other := q.with(provider.ActionApply)
	other.Digest, other.Plan = "", ""
	other.set("names", []string{"b"})
	other.must(t)
}

func forgeDigest(_ *testing.T, q *request) { q.Digest = q.Digest[:3*quarter] + "0123456789abcdef" }

// The digest tells a plan from another, and is the same for the same one.
func TestDigest(t *testing.T) {
	q := newRequest(t, provider.ActionPlan, small())
	q.set("names", []string{"a"})
	first, _, _ := q.must(t)
	second, _, _ := q.must(t)
	if first.PlanDigest != second.PlanDigest {
		t.Errorf("the same plan twice: %v moved", moved(first.PlanDigest, second.PlanDigest))
	}
	q.set("names", []string{"a", "b"})
	third, _, _ := q.must(t)
	if diff := cmp.Diff([]string{"the variables", "what would change"}, moved(first.PlanDigest, third.PlanDigest)); diff != "" {
		t.Errorf("with another variable (-want +got):\n%s", diff)
	}
}

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
