// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// toy answers every verb, and behaves by its name before it does.
type toy struct {
	name            string
	behaviour, verb string // the parts of the name before and after its first hyphen

	mu sync.Mutex
}

var _ provider.Accounts = (*toy)(nil)

// exitCrash is the code that a crash ends with.
const exitCrash = 3

// begin is what every verb does first.
func (t *toy) begin(ctx context.Context, verb string, credentials provider.Credentials) error {
	mark := credentials.Values["MARK"].Reveal()
	first := t.mark(mark, verb)
	if t.verb == verb {
		switch {
		case t.behaviour == "crash" && first:
			fmt.Fprintln(os.Stderr, "panic: out of luck")
			os.Exit(exitCrash)
		case t.behaviour == "hang" && first:
			<-ctx.Done()
			t.mark(mark, verb+" ended")
			return ctx.Err()
		case t.behaviour == "stuck":
			select {}
		case t.behaviour == "panics":
			panic("S3CR3T")
		}
	}
	wait := 300 * time.Millisecond
	if given, err := time.ParseDuration(credentials.Values["WAIT"].Reveal()); err == nil {
		wait = given
	}
	switch t.name {
	case "slow":
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	case "winds-down":
		<-ctx.Done()
		<-time.After(wait)
	}
	return nil
}

// mark appends a line to the file, and says whether it is the first of its kind there.
func (t *toy) mark(path, line string) (first bool) {
	if path == "" {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, line); err != nil {
		panic(err)
	}
	return !strings.Contains("\n"+string(before), "\n"+line+"\n")
}

func (t *toy) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	if err := t.begin(ctx, "connect", req.Credentials); err != nil {
		return provider.Connection{}, err
	}
	c := provider.Connection{Version: "v1.33.0", Identity: provider.ClusterIdentity{KubeSystemUID: req.Cluster.Incarnation}}
	if t.name == "tells-env" {
		c.Identity.Traits = map[string][]string{"environment": os.Environ()}
	}
	if req.Endpoint != nil {
		c.Endpoint = *req.Endpoint
	}
	return c, nil
}

func (t *toy) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	made := disk(0)
	for i, kind := range []provider.EventKind{provider.EventPlanned, provider.EventStarted} {
		r.Report(provider.Event{Kind: kind, Address: "toy_disk.data", Operation: provider.OperationCreate, Message: strconv.Itoa(i)})
	}
	if err := t.begin(ctx, "build", req.Credentials); err != nil {
		return provider.BuildResult{}, err
	}
	r.Report(provider.Event{Kind: provider.EventDone, Address: "toy_disk.data", Operation: provider.OperationCreate, Resource: &made})
	return provider.BuildResult{Resources: []provider.Resource{made}}, nil
}

func (t *toy) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	if err := t.begin(ctx, "snapshot", req.Credentials); err != nil {
		return nil, err
	}
	var all []provider.Snapshot
	for _, d := range req.Disks {
		all = append(all, provider.Snapshot{Disk: d, State: provider.SnapshotReady})
	}
	return all, nil
}

func (t *toy) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	if err := t.begin(ctx, "confirm", req.Credentials); err != nil {
		return provider.Findings{}, err
	}
	var found provider.Findings
	for _, r := range req.Recorded {
		found.Present = append(found.Present, provider.Finding{Resource: r, Why: "the toy cloud has it"})
	}
	return found, nil
}

func (t *toy) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	if err := t.begin(ctx, "sweep", req.Credentials); err != nil {
		return provider.Findings{}, err
	}
	var found provider.Findings
	if t.name == "many" {
		const many = 40_000
		for i := range many {
			found.Present = append(found.Present, provider.Finding{Resource: disk(i), Why: "the toy cloud lists it"})
		}
	}
	return found, nil
}

func (t *toy) Verify(ctx context.Context, account provider.Account) (provider.Identity, error) {
	if err := t.begin(ctx, "verify", account.Stored); err != nil {
		return provider.Identity{}, err
	}
	return provider.Identity{Account: account.ID, Principal: account.Role}, nil
}

func (t *toy) Mint(ctx context.Context, account provider.Account, _ provider.MintRequest) (provider.Credentials, error) {
	if err := t.begin(ctx, "mint", account.Stored); err != nil {
		return provider.Credentials{}, err
	}
	return provider.Credentials{Values: map[string]provider.Secret{"TOY_TOKEN": provider.NewSecret("minted")}}, nil
}

func disk(i int) provider.Resource {
	return provider.Resource{
		Kind: "disk", ID: "disk-" + strconv.Itoa(i), Name: "data-" + strconv.Itoa(i), Location: "toy-1a", Account: "account-1",
		Proof: provider.ProofLabel, Why: "it carries our label with this incarnation",
	}
}
