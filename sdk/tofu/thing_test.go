// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

// computed is a build of things that are known outside by an ID that their address tells.
func computed(t *testing.T, q request, replace func(Thing) string) (provider.BuildResult, *events) {
	t.Helper()
	binary, err := tofuBinary()
	if err != nil {
		t.Fatal(err)
	}
	id := func(thing Thing) string { return "outside/" + strings.TrimPrefix(thing.Address, "terraform_data.") }
	seen := &events{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := Build(ctx, Options{
		Schema: json.RawMessage(`{"type":"object"}`), Module: asFS(q.Files), Binary: binary, LocalState: q.State, Env: map[string]string{"GORACE": noSleep},
		Resource: func(thing Thing) (provider.Resource, bool) {
			return provider.Resource{Kind: "thing", ID: id(thing)}, true
		},
		ImportID: id, Replace: replace,
	}, provider.BuildRequest{Action: q.Action, Cluster: provider.Cluster{Name: q.Cluster}, Folder: q.Folder, Ledger: q.Ledger}, seen)
	if err != nil {
		t.Fatal(err)
	}
	return result, seen
}

// A thing that was imported by another ID than its attribute had is the same thing, in all that follows.
func TestImportID(t *testing.T) {
	q := newRequest(t, provider.ActionApply, map[string]string{"main.tf": `
resource "terraform_data" "one" {}
resource "terraform_data" "two" {}
`})
	first, seen := computed(t, q, nil)
	made := ledger(seen.all)
	if len(made) != 2 || made[0].ID == made[1].ID || len(first.Resources) != 2 {
		t.Fatalf("made %+v, the state has %+v", made, first.Resources)
	}
	q.Ledger = made
	if result, _ := computed(t, q, nil); len(result.Changes) > 0 || len(result.LeftBehind) > 0 {
		t.Errorf("with nothing lost: changes %+v, left behind %+v", result.Changes, result.LeftBehind)
	}
	if err := os.Remove(q.State); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"lost", "imported"} {
		result, _ := computed(t, q, nil)
		if len(result.Changes) > 0 || len(result.LeftBehind) > 0 || len(result.Resources) != 2 || result.Resources[0].ID != "outside/one" {
			t.Errorf("%s: changes %+v, left behind %+v, resources %+v", when, result.Changes, result.LeftBehind, result.Resources)
		}
	}
	if id := written(t, q.State)["terraform_data.one"]; id != "outside/one" {
		t.Errorf("it was imported as %q", id)
	}
}

// What the plugin wants to be made anew is planned as such, with the plugin's reason.
func TestReplace(t *testing.T) {
	q := newRequest(t, provider.ActionApply, map[string]string{"main.tf": `
resource "terraform_data" "one" {}
resource "terraform_data" "two" {}
`})
	because := func(thing Thing) string {
		if thing.Address == "terraform_data.two" {
			return "because of region"
		}
		return ""
	}
	computed(t, q, because) // nothing is there yet
	before := written(t, q.State)
	result, _ := computed(t, q, because)
	if len(result.Changes) != 1 || result.Changes[0].Operation != provider.OperationReplace || result.Changes[0].Why != "because of region" {
		t.Errorf("changes %+v", result.Changes)
	}
	after := written(t, q.State)
	if after["terraform_data.one"] != before["terraform_data.one"] || after["terraform_data.two"] == before["terraform_data.two"] {
		t.Errorf("before %v, after %v", before, after)
	}
	if result, _ := computed(t, q.with(provider.ActionDestroy), because); len(result.Resources) > 0 {
		t.Errorf("after a destroy: %+v", result.Resources)
	}
}
