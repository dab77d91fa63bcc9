// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plugin is a provider whose module is a folder of the test's. See package testbuild.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

func main() {
	tofu.Shim()
	plugin.Serve(&toy{}, provider.Facts{
		Name: "toy", Version: "v0.1.0", NodePrefixes: []string{"toy://"},
		Kinds:     []provider.Kind{{Name: "terraform-data", Title: "Thing"}},
		Templates: []provider.Template{{Name: "toy/cluster", Title: "Toy", Variables: json.RawMessage(`{"type":"object"}`)}},
	})
}

// toy builds what is in the folder that the credential MODULE_PROJECT names, and sweeps the folder CLOUD_PROJECT.
type toy struct{ provider.Provider }

// Build implements provider.Provider.
func (toy) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	folder := req.Credentials.Values["MODULE_PROJECT"].Reveal()
	if secret := req.Credentials.Values["LEAK"].Reveal(); secret != "" {
		return leak(secret, r)
	}
	if os.Getenv("GIT_TOKEN") != "" {
		return provider.BuildResult{}, provider.Errorf(provider.Other, "the host's environment got through")
	}
	schema, err := os.ReadFile(filepath.Join(folder, "schema.json"))
	if err != nil {
		return provider.BuildResult{}, err
	}
	if text := req.Credentials.Values["SAYS_PROJECT"].Reveal(); text != "" {
		return says(text)
	}
	return tofu.Build(ctx, tofu.Options{Schema: schema, Module: os.DirFS(folder), Log: os.Stderr}, req, r)
}

// says fails as KIND TEXT says.
func says(text string) (provider.BuildResult, error) {
	kind, message, _ := strings.Cut(text, " ")
	return provider.BuildResult{}, &provider.Error{Kind: provider.ErrorKind(kind), Field: "template", Message: message}
}

// leak tells a secret everywhere.
func leak(secret string, r provider.Reporter) (provider.BuildResult, error) {
	fmt.Fprintln(os.Stderr, "printed", secret)
	r.Report(provider.Event{Kind: provider.EventWarning, Time: time.Now(), Message: "warned " + secret})
	thing := provider.Resource{Kind: "terraform-data", ID: "1", Name: "named " + secret, Proof: provider.ProofRecorded, Why: "why " + secret}
	r.Report(provider.Event{Kind: provider.EventDone, Operation: provider.OperationCreate, Time: time.Now(), Message: "done " + secret, Resource: &thing})
	output, _ := json.Marshal(map[string]string{"a": secret})
	return provider.BuildResult{
		Changes: []provider.Change{{Address: "a", Type: "b", Operation: provider.OperationCreate, Why: secret}}, Resources: []provider.Resource{thing},
		LeftBehind: []provider.Resource{{Kind: "disk", ID: "2", Name: "left " + secret}}, Outputs: map[string]json.RawMessage{"o": output},
	}, provider.Errorf(provider.Other, "failed %s", secret)
}

// Sweep implements provider.Provider.
func (toy) Sweep(_ context.Context, req provider.SweepRequest) (provider.Findings, error) {
	entries, err := os.ReadDir(req.Credentials.Values["CLOUD_PROJECT"].Reveal())
	if err != nil {
		return provider.Findings{}, err
	}
	var found provider.Findings
	for _, entry := range entries {
		found.Present = append(found.Present, provider.Finding{
			Resource: provider.Resource{Kind: "terraform-data", ID: entry.Name(), Proof: provider.ProofLabel, Why: "it is there"}, Why: "it is there",
		})
	}
	return found, nil
}
