// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

// mirror has one provider in two versions, which are installed and never started.
func mirror(t *testing.T, versions ...string) (cliConfig string) {
	t.Helper()
	root := t.TempDir()
	for _, version := range versions {
		dir := filepath.Join(root, "example.net", "acme", "nope", version, runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "terraform-provider-nope_v"+version), []byte("#!/bin/sh\n# "+version+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("provider_installation {\n  filesystem_mirror { \n    path = %q\n  }\n}\n", root)
}

// The lock file says which build of a provider the module was tried with.
func TestLockFileIsReadOnly(t *testing.T) {
	files := map[string]string{"main.tf": `
terraform {
  required_providers {
    nope = { source = "example.net/acme/nope" }
  }
}
`}
	prepare := func(cliConfig string, saved provider.Secret, files map[string]string) (r *run, lock string, err error) {
		q := newRequest(t, provider.ActionPlan, files)
		binary, err := tofuBinary()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		req := provider.BuildRequest{Action: q.Action, Cluster: provider.Cluster{Name: "edge"}, Folder: q.Folder, Plan: saved, PlanDigest: "x"}
		o := Options{Schema: json.RawMessage(`{"type":"object"}`), Module: asFS(files), Binary: binary, LocalState: q.State, CLIConfig: cliConfig}
		if r, err = begin(ctx, o, req, nil); err != nil {
			t.Fatal(err)
		}
		defer r.folder.close()
		err = r.prepare(ctx)
		text, _ := os.ReadFile(filepath.Join(r.dir, lockFile))
		return r, string(text), err
	}
	old, both := mirror(t, "1.0.0"), mirror(t, "1.0.0", "2.0.0")
	r, lock, err := prepare(old, provider.Secret{}, files)
	if err != nil || !strings.Contains(lock, `"1.0.0"`) {
		t.Fatalf("a module without a lock file: %v\n%s", err, lock)
	}
	if _, lock, err := prepare(both, provider.Secret{}, files); err != nil || !strings.Contains(lock, `"2.0.0"`) {
		t.Fatalf("the newest where nothing is pinned: %v\n%s", err, lock)
	}
	// The apply is another run, perhaps days later: its providers are those that the plan was made with.
	if err := r.folder.write(r.folder.plan, []byte("a plan")); err != nil {
		t.Fatal(err)
	}
	saved, err := r.pack()
	if err != nil {
		t.Fatal(err)
	}
	if _, again, err := prepare(both, saved, files); err != nil || again != lock {
		t.Errorf("with a saved plan: %v\n%s", err, again)
	}

	with := func(lock string) map[string]string {
		return map[string]string{"main.tf": files["main.tf"], lockFile: lock}
	}
	if _, again, err := prepare(both, provider.Secret{}, with(lock)); err != nil || again != lock {
		t.Errorf("a module with a lock file: %v\n%s", err, again)
	}
	tests := map[string]struct{ reason, lock string }{
		"OtherBuild": {"A build of the provider that the module was not tried with.", strings.Replace(lock, "h1:", "h1:0", 1)},
		"Missing":    {"A provider that the lock file lacks.", "# none\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, after, err := prepare(old, provider.Secret{}, with(tc.lock))
			if !errors.Is(err, provider.Invalid) || after != tc.lock {
				t.Errorf("%s\ngot %s %v, and the file is now\n%s", tc.reason, provider.KindOf(err), err, after)
			}
		})
	}
}

// A plan that does not fit into a Secret is made again.
func TestLargePlan(t *testing.T) {
	noise := make([]byte, 1<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	q := newRequest(t, provider.ActionPlan, map[string]string{"main.tf": `
variable "noise" {}
resource "terraform_data" "a" { input = var.noise }
`})
	q.set("noise", hex.EncodeToString(noise))
	planned, seen, _ := q.must(t)
	if !planned.Plan.IsZero() || planned.PlanDigest == "" || !slices.ContainsFunc(seen.of(provider.EventWarning), func(s string) bool { return strings.Contains(s, "too large to be kept") }) {
		t.Errorf("a plan of 2 MiB is kept with %d bytes; said is %v", len(planned.Plan.Reveal()), seen.of(provider.EventWarning))
	}
	q = q.with(provider.ActionApply)
	q.Digest = planned.PlanDigest
	if result, _, _ := q.must(t); len(result.Resources) != 1 {
		t.Errorf("applied by its digest alone: %+v", result.Resources)
	}
}
