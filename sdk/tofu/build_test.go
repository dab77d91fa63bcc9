// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

// small is a module with a thing for each name, in a module of its own.
func small() map[string]string {
	return map[string]string{
		"main.tf": `
variable "names" { type = list(string) }
variable "size" {
  type    = string
  default = "s"
}
module "inner" {
  source = "./inner"
  names  = var.names
  size   = var.size
}
output "ids" { value = module.inner.ids }
output "password" {
  value     = "S3CR3T-output"
  sensitive = true
}
`,
		"inner/main.tf": `
variable "names" {}
variable "size" {}
resource "terraform_data" "thing" {
  for_each         = toset(var.names)
  input            = each.key
  triggers_replace = var.size
}
output "ids" { value = { for k, v in terraform_data.thing : k => v.id } }
`,
	}
}

func addresses(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, `module.inner.terraform_data.thing["`+name+`"]`)
	}
	return all
}

func changed(changes []provider.Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, strings.TrimSpace(string(c.Operation)+" "+c.Address+" "+c.Why))
	}
	return all
}

func TestLifecycle(t *testing.T) {
	q := newRequest(t, provider.ActionPlan, small())
	q.set("names", []string{"a", "b"})
	ab := addresses("a", "b")

	planned, seen, log := q.must(t)
	if diff := cmp.Diff([]string{"Create " + ab[0], "Create " + ab[1]}, changed(planned.Changes)); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	if len(planned.PlanDigest) != 64 || planned.Plan.IsZero() || len(planned.Resources) > 0 {
		t.Errorf("a plan has a digest and a file, and made nothing: %+v", planned)
	}
	if got := seen.of(provider.EventPlanned); len(got) != 2 {
		t.Errorf("events of what is planned: %v", got)
	}
	if !strings.Contains(log, "will be created") || strings.Contains(log, "\x1b[") {
		t.Errorf("the log lacks OpenTofu's words for people, or has colours:\n%s", log)
	}
	if _, err := os.Stat(q.State); err == nil {
		t.Error("a plan wrote a state")
	}

	applied, seen, _ := q.with(provider.ActionApply).must(t)
	want := []string{ab[0] + " Create", ab[1] + " Create"}
	if diff := cmp.Diff(want, seen.of(provider.EventDone)); diff != "" {
		t.Errorf("events of what is done (-want +got):\n%s", diff)
	}
	var ids map[string]string
	if err := json.Unmarshal(applied.Outputs["ids"], &ids); err != nil || len(applied.Outputs) != 1 {
		t.Errorf("the outputs are %s, want ids and nothing that is sensitive", applied.Outputs)
	}
	if len(applied.Resources) != 2 || applied.Resources[0].ID != ids["a"] || applied.Resources[0].Kind != "terraform-data" || !strings.Contains(applied.Resources[0].Why, "module.inner") {
		t.Errorf("the resources are %+v, want those with the ids %v", applied.Resources, ids)
	}
	kept := ledger(seen.all)
	slices.SortFunc(kept, func(a, b provider.Resource) int { return strings.Compare(a.Why, b.Why) })
	if diff := cmp.Diff(applied.Resources, kept); diff != "" {
		t.Errorf("events and state differ (-state +events):\n%s", diff)
	}

	again, seen, _ := q.must(t)
	if len(again.Changes) > 0 || !slices.Contains(seen.of(provider.EventMessage), "plan: no changes") {
		t.Errorf("a plan of what is there: %v, %v", changed(again.Changes), seen.of(provider.EventMessage))
	}

	q.set("names", []string{"b", "c"})
	q.set("size", "l")
	moved, _, _ := q.must(t)
	wantChanges := []string{"Delete " + ab[0], "Replace " + ab[1] + " because of triggers_replace", "Create " + addresses("c")[0]}
	if diff := cmp.Diff(wantChanges, changed(moved.Changes)); diff != "" {
		t.Errorf("destructive changes come first (-want +got):\n%s", diff)
	}

	gone, seen, _ := q.with(provider.ActionDestroy).must(t)
	if len(gone.Resources) > 0 || len(ledger(append(ledgerEvents(applied), seen.all...))) > 0 {
		t.Errorf("a destroy left %+v", gone.Resources)
	}
	if empty, seen, _ := q.with(provider.ActionDestroy).must(t); len(empty.Changes) > 0 || !slices.Contains(seen.of(provider.EventMessage), "there is nothing to destroy") {
		t.Errorf("a destroy of nothing: %+v", empty)
	}
}

// ledgerEvents are the events that made a result.
func ledgerEvents(result provider.BuildResult) []provider.Event {
	var all []provider.Event
	for _, r := range result.Resources {
		all = append(all, provider.Event{Kind: provider.EventDone, Operation: provider.OperationCreate, Resource: &r})
	}
	return all
}

func TestValuesReachTheModule(t *testing.T) {
	values := map[string]string{
		"interpolation": "${path.module} and %{ if true }x%{ endif }", "doubled": "$${x} %%{y}", "quotes": `"a" 'b' \c \" \n`,
		"lines": "one\ntwo\r\nthree\n", "blanks": "  x\t ", "unicode": "Grüße, 世界 🙂", "html": "<a href='x'>&amp;</a>", "json": `{"a":[1]}`,
		"zero": "0123", "null": "null", "empty": "", "heredoc": "<<EOT\nx\nEOT\n", "comment": "# x // y /* z */",
	}
	q := newRequest(t, provider.ActionApply, map[string]string{"main.tf": `
variable "values" { type = map(string) }
variable "count_of" { type = number }
variable "big" { type = number }
variable "yes" { type = bool }
output "values" { value = var.values }
output "sizes" { value = { for k, v in var.values : k => base64encode(v) } }
output "typed" { value = [var.count_of + 1, !var.yes, var.big] }
`})
	q.set("values", values)
	q.set("count_of", 3)
	q.set("big", json.Number("12345678901234567890"))
	q.set("yes", true)
	result, _, _ := q.must(t)
	var got map[string]string
	if err := json.Unmarshal(result.Outputs["values"], &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(values, got); diff != "" {
		t.Errorf("what the module got (-want +got):\n%s", diff)
	}
	var typed []any
	if err := json.Unmarshal(result.Outputs["typed"], &typed); err != nil || len(typed) != 3 || typed[0] != 4.0 || typed[1] != false ||
		!strings.Contains(string(result.Outputs["typed"]), "12345678901234567890") {
		t.Errorf("typed values: %s", result.Outputs["typed"])
	}
}

func TestUndeclaredVariable(t *testing.T) {
	q := newRequest(t, provider.ActionApply, map[string]string{"main.tf": `
variable "allowed_api_cidrs" { default = ["0.0.0.0/0"] }
resource "terraform_data" "a" { input = var.allowed_api_cidrs }
`})
	q.set("allowed_api_cidr", []string{"10.0.0.0/8"})
	result, _, _, err := q.run(t)
	if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), "variables.allowed_api_cidr: is no input of the template: did you mean allowed_api_cidrs?") {
		t.Errorf("OpenTofu only warns of it, and would leave the API open: %v", err)
	}
	if len(result.Resources) > 0 {
		t.Errorf("something was made all the same: %+v", result.Resources)
	}
}

func TestNothingSensitiveLeaves(t *testing.T) {
	q := newRequest(t, provider.ActionApply, map[string]string{"main.tf": `
variable "password" { sensitive = true }
resource "terraform_data" "a" { input = var.password }
resource "terraform_data" "b" {
  input = "open"
  provisioner "local-exec" { command = "echo the key is $SOME_CLOUD_KEY; echo and GIT_TOKEN is $${GIT_TOKEN:-unset}" }
}
resource "terraform_data" "c" {
  depends_on = [terraform_data.b]
  provisioner "local-exec" { command = "echo $SOME_CLOUD_KEY is refused >&2; exit 1" }
}
output "same" {
  value     = var.password
  sensitive = true
}
`})
	q.set("password", "S3CR3T-variable")
	q.Secrets = map[string]string{"SOME_CLOUD_KEY": "S3CR3T-credential", "GIT_TOKEN": "S3CR3T-git", "SOME_REGION": "us-east-1"}
	result, seen, log, err := q.run(t)
	if err == nil {
		t.Fatal("the module was to fail")
	}
	if !strings.Contains(log, "the key is [redacted]") || !strings.Contains(log, "GIT_TOKEN is unset") {
		t.Errorf("a plan or an apply has no use for GIT_TOKEN, and the log hides the rest:\n%s", log)
	}
	if !strings.Contains(err.Error(), "[redacted] is refused") {
		t.Errorf("the error lacks what failed: %v", err)
	}
	shown, _ := json.Marshal([]any{result, seen.all, err.Error(), log})
	if strings.Contains(string(shown), "S3CR3T") {
		t.Errorf("a secret left:\n%s", shown)
	}
	if len(result.Resources) == 0 {
		t.Error("a failed apply still says what there is")
	}
	root := layout(q.Folder).root
	if info, err := os.Stat(root); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the run's folder: %v, %v; want 0700", info, err)
	}
	for _, path := range []string{"variables.tfvars.json", "state.kubeconfig", "tofu.rc"} {
		if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want 0600", path, info, err)
		}
	}
}

func TestBadModules(t *testing.T) {
	tests := map[string]struct {
		reason, module string
		kind           provider.ErrorKind
		want           string
	}{
		"Syntax":    {"No language of OpenTofu's.", `resource "x" {`, provider.Invalid, "template: "},
		"Reference": {"A name that is not there.", `output "x" { value = var.nothing }`, provider.Invalid, "template: "},
		"Required":  {"A variable that the schema forgot.", `variable "must" {}`, provider.Invalid, "variables.must: "},
		"Provider": {"A provider that can't be had.", `terraform {
  required_providers {
    nope = { source = "example.invalid/acme/nope" }
  }
}`, provider.Unavailable, "example.invalid"},
		"Check": {"A module's own rules name the variable.", `
variable "size" {
  default = 1
  validation {
    condition     = var.size > 1
    error_message = "Too small."
  }
}`, provider.Invalid, "variables.size: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := newRequest(t, provider.ActionPlan, map[string]string{"main.tf": tc.module})
			if name == "Check" {
				q.set("size", 1)
			}
			_, _, _, err := q.run(t)
			if provider.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot %s: %v; want %s with %q", tc.reason, provider.KindOf(err), err, tc.kind, tc.want)
			}
			// What was never built is destroyed, be its module as bad as it is.
			if _, _, _, err := q.with(provider.ActionDestroy).run(t); err != nil {
				t.Errorf("the destroy of nothing: %v", err)
			}
		})
	}
}

func TestDestroyWithWrongVariables(t *testing.T) {
	q := newRequest(t, provider.ActionDestroy, small())
	q.Schema = `{"type":"object","properties":{"names":{"type":"array"}},"required":["names"]}`
	if _, seen, _ := q.must(t); !slices.Contains(seen.of(provider.EventMessage), "there is nothing to destroy: nothing was ever built") {
		t.Errorf("what was never built is gone: %v", seen.of(provider.EventMessage))
	}
	q.Ledger = []provider.Resource{{Kind: "disk", ID: "d"}}
	if result, _, _, err := q.run(t); !errors.Is(err, provider.Invalid) || len(result.LeftBehind) != 1 {
		t.Errorf("with something in the ledger: %v, %+v", err, result)
	}
	q.Ledger = nil
	q.set("names", []string{"a"})
	q.with(provider.ActionApply).must(t)
	q.Variables = nil
	if _, _, _, err := q.run(t); !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), "variables.names: is missing") {
		t.Errorf("what was built is not forgotten: %v", err)
	}
}
