// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

// The test's program is everything that the provider's is: OpenTofu's shim, what the module calls, and a plugin in the middle of a
// build.
func TestMain(m *testing.M) {
	tofu.Shim()
	if len(os.Args) > 1 && (os.Args[1] == "put" || os.Args[1] == "delete") {
		commands(os.Args[1], os.Args[2:])
	}
	if path := os.Getenv(envOrder); path != "" {
		os.Exit(actAsPlugin(path))
	}
	os.Exit(m.Run())
}

const (
	goodToken, readToken = "S3CR3T-of-the-operator", "S3CR3T-of-a-reader"
	incarnation          = "a3a37a0c-3a2f-4a9e-bf55-0d8c4f1e7b21"
	// patience is how long a test waits for what takes a second on an idle machine.
	patience = 2 * time.Minute
	// noSleep takes away the second for which a program with the race detector sleeps before it exits.
	noSleep = "atexit_sleep_ms=0"
)

// world is a cloud, and a cluster to build in it.
type world struct {
	cloud   *httpcloud.Cloud
	server  *httptest.Server
	fake    fake
	cluster provider.Cluster
	folder  string
}

func newWorld(t testing.TB, change ...func(*httpcloud.Options)) *world {
	t.Helper()
	dir := t.TempDir()
	o := httpcloud.Options{
		Folder: filepath.Join(dir, "cloud"), PageSize: 1,
		Tokens: map[string]httpcloud.Token{goodToken: {Name: "operator"}, readToken: {Name: "reader", ReadOnly: true}},
	}
	for _, f := range change {
		f(&o)
	}
	cloud, err := httpcloud.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	bin, err := devstack.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(bin, "tofu")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("OpenTofu is not built: run make stack (%v)", err)
	}
	return &world{
		cloud: cloud, server: server, folder: filepath.Join(dir, "run"),
		fake:    fake{tofu: binary, localState: filepath.Join(dir, "terraform.tfstate"), env: map[string]string{"GORACE": noSleep}},
		cluster: provider.Cluster{Name: unique("edge"), Incarnation: incarnation, Template: templateName},
	}
}

// unique is a cluster's name that another run of the tests on this machine does not have.
func unique(name string) string { return fmt.Sprintf("%s-%d", name, os.Getpid()) }

func (w *world) credentials(token string) provider.Credentials {
	return provider.Credentials{Values: map[string]provider.Secret{
		endpointName: provider.NewSecret(w.server.URL), tokenName: provider.NewSecret(token),
	}}
}

func (w *world) request(action provider.Action, variables map[string]any) provider.BuildRequest {
	req := provider.BuildRequest{
		Cluster: w.cluster, Action: action, Credentials: w.credentials(goodToken), Folder: w.folder, Variables: map[string]json.RawMessage{},
	}
	for name, value := range variables {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		req.Variables[name] = text
	}
	return req
}

// build runs a request in this process.
func (w *world) build(t testing.TB, req provider.BuildRequest) (provider.BuildResult, *events, error) {
	t.Helper()
	seen := &events{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := w.fake.Build(ctx, req, seen)
	if err != nil && strings.Contains(err.Error(), "S3CR3T") {
		t.Errorf("a secret is in the error: %v", err)
	}
	return result, seen, err
}

// must is build where that has to succeed.
func (w *world) must(t testing.TB, action provider.Action, variables map[string]any) provider.BuildResult {
	t.Helper()
	result, _, err := w.build(t, w.request(action, variables))
	if err != nil {
		t.Fatalf("%s: %v", action, err)
	}
	return result
}

// in lists what is in the cloud, by ID.
func (w *world) in() map[string]httpcloud.Thing {
	all := map[string]httpcloud.Thing{}
	for _, thing := range w.cloud.Things() {
		all[thing.ID] = thing
	}
	return all
}

// kinds are those of the things in the cloud, sorted.
func (w *world) kinds() []string {
	var all []string
	for _, thing := range w.cloud.Things() {
		all = append(all, thing.Kind)
	}
	slices.Sort(all)
	return all
}

// writes are the lines of the cloud's log, as "create cluster".
func (w *world) writes() []string {
	var all []string
	for _, line := range w.cloud.Writes() {
		kind, _, _ := strings.Cut(line.ID, "/")
		all = append(all, line.Do+" "+kind)
	}
	return all
}

// events collects what a run reports.
type events struct {
	mu  sync.Mutex
	all []provider.Event
}

func (e *events) Report(event provider.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// ledger is what a host keeps of a run's events.
func ledger(all []provider.Event) []provider.Resource {
	var kept []provider.Resource
	for _, e := range all {
		switch {
		case e.Kind != provider.EventDone || e.Resource == nil:
		case e.Operation == provider.OperationDelete:
			kept = slices.DeleteFunc(kept, func(r provider.Resource) bool { return r.ID == e.Resource.ID })
		case e.Operation == provider.OperationCreate:
			kept = append(kept, *e.Resource)
		}
	}
	return kept
}
