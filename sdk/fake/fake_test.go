// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/fake"
	"darkshift.io/infrared/sdk/provider"
)

// world is a cloud with one living cluster.
type world struct {
	cloud  *fake.Cloud
	access fake.Access
	living fake.Living
	plugin *fake.Provider
}

func newWorld(o fake.Options) world {
	w := world{cloud: fake.NewCloud(o)}
	w.access = w.cloud.AddAccount("account-1")
	w.living = w.cloud.AddCluster(w.access, provider.Cluster{Name: "demo", Incarnation: "6f1c0e9e-92bd-4c3c-9f4b-3a0e3f1f9f10"})
	w.plugin = fake.New(w.cloud)
	return w
}

func (w world) confirm() provider.ConfirmRequest {
	return provider.ConfirmRequest{
		Cluster: w.living.Cluster, Identity: w.living.Identity, Credentials: w.access.Credentials, Recorded: w.living.Recorded,
	}
}

func (w world) sweep() provider.SweepRequest {
	return provider.SweepRequest{Cluster: w.living.Cluster, Identity: w.living.Identity, Credentials: w.access.Credentials}
}

func (w world) build(action provider.Action) provider.BuildRequest {
	return provider.BuildRequest{
		Cluster: provider.Cluster{Name: "built", Incarnation: "a3a37a0c-3a2f-4a9e-bf55-0d8c4f1e7b21", Template: fake.TemplateName},
		Action:  action, Credentials: w.access.Credentials, Variables: map[string]json.RawMessage{"nodes": json.RawMessage("3")},
	}
}

type events struct {
	mu  sync.Mutex
	all []provider.Event
}

func (e *events) Report(event provider.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) made() []provider.Resource {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []provider.Resource
	for _, event := range e.all {
		if event.Kind == provider.EventDone {
			all = append(all, *event.Resource)
		}
	}
	return all
}

func ids(list []provider.Finding) []string {
	var all []string
	for _, f := range list {
		all = append(all, f.Resource.ID)
	}
	return all
}

func TestTroubleIsNeverTakenForAbsence(t *testing.T) {
	cases := map[string]struct {
		trouble fake.Trouble
		options fake.Options
		// whole says that the sweep finds everything all the same.
		whole  bool
		reason string
	}{
		"a good day":               {whole: true, reason: "pages are read to the end"},
		"a zone does not answer":   {trouble: fake.Trouble{SilentZones: []string{"fake-1b"}}, reason: "what is in the zone can't be seen"},
		"a kind is refused":        {trouble: fake.Trouble{DeniedKinds: []string{fake.KindDisk}}, reason: "a refusal says nothing about disks"},
		"the second page fails":    {trouble: fake.Trouble{ThrottlePage: 2}, options: fake.Options{PageSize: 1, Zones: []string{"z"}}, reason: "half a list proves nothing"},
		"every list begins empty":  {trouble: fake.Trouble{EmptyPages: true}, whole: true, reason: "an empty page with a token is not the end"},
		"a list hides what exists": {trouble: fake.Trouble{HiddenFromLists: []string{"disk-0007"}}, reason: "no one can know of it without a record"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(c.options)
			w.cloud.Set(c.trouble)
			swept, err := w.plugin.Sweep(t.Context(), w.sweep())
			if err != nil {
				t.Fatalf("%s: Sweep: %v", c.reason, err)
			}
			if whole := len(swept.Present) == len(w.living.Recorded); whole != c.whole {
				t.Errorf("%s: the sweep found %v of %d", c.reason, ids(swept.Present), len(w.living.Recorded))
			}
			confirmed, err := w.plugin.Confirm(t.Context(), w.confirm())
			if err != nil {
				t.Fatalf("%s: Confirm: %v", c.reason, err)
			}
			if len(confirmed.Absent) > 0 {
				t.Errorf("%s: %v are called absent", c.reason, ids(confirmed.Absent))
			}
			if got := len(confirmed.Present) + len(confirmed.Unknown); got != len(w.living.Recorded) {
				t.Errorf("%s: %d answers for %d things", c.reason, got, len(w.living.Recorded))
			}
		})
	}
}

func TestDeletingIsThereForAWhile(t *testing.T) {
	w := newWorld(fake.Options{Settle: 2})
	id := w.living.Recorded[0].ID
	w.cloud.BeginDelete(id)
	for look, present := range []int{7 + 1, 7 + 1, 7} {
		found, err := w.plugin.Confirm(t.Context(), w.confirm())
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Present) != present {
			t.Errorf("look %d: %d present, want %d", look, len(found.Present), present)
		}
	}
}

func TestForeignThingsAreNotTheClusters(t *testing.T) {
	w := newWorld(fake.Options{})
	foreign := w.cloud.AddForeign(w.living)
	swept, err := w.plugin.Sweep(t.Context(), w.sweep())
	if err != nil {
		t.Fatal(err)
	}
	if len(swept.Present) != len(w.living.Recorded) {
		t.Errorf("found %v beside %v", ids(swept.Present), foreign)
	}
}

func TestBuildLivesAndDies(t *testing.T) {
	w := newWorld(fake.Options{})
	before := w.cloud.Things()
	log := &events{}
	planned, err := w.plugin.Build(t.Context(), w.build(provider.ActionPlan), log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(len(before), len(w.cloud.Things())); diff != "" || len(planned.Changes) != 5 {
		t.Fatalf("a plan of %d changes changed the cloud: %s", len(planned.Changes), diff)
	}
	apply := w.build(provider.ActionApply)
	apply.PlanDigest = planned.PlanDigest
	applied, err := w.plugin.Build(t.Context(), apply, log)
	if err != nil || len(applied.Resources) != 5 || len(log.made()) != 5 {
		t.Fatalf("applied %d things and reported %d: %v", len(applied.Resources), len(log.made()), err)
	}
	again, err := w.plugin.Build(t.Context(), w.build(provider.ActionApply), log)
	if err != nil || len(again.Changes) != 0 {
		t.Errorf("a second apply did %v: %v", again.Changes, err)
	}
	if _, err := w.plugin.Build(t.Context(), apply, log); !errors.Is(err, provider.Conflict) {
		t.Errorf("an apply of a plan that is used up: %v", err)
	}
	connection, err := w.plugin.Connect(t.Context(), provider.ConnectRequest{
		Cluster: apply.Cluster, Outputs: applied.Outputs, Credentials: w.access.Credentials, RenewToken: time.Hour,
	})
	if err != nil || connection.Nodes.Total != 3 || len(connection.Holds) != 5 {
		t.Errorf("connected to %d nodes holding %d things: %v", connection.Nodes.Total, len(connection.Holds), err)
	}
	for range 2 {
		if _, err := w.plugin.Build(t.Context(), w.build(provider.ActionDestroy), log); err != nil {
			t.Fatal(err)
		}
	}
	req := provider.SweepRequest{Cluster: apply.Cluster, Credentials: w.access.Credentials}
	for range 3 {
		if _, err := w.plugin.Sweep(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if after := w.cloud.Things(); len(after) != len(before) {
		t.Errorf("%d things before the build, %d after the destroy", len(before), len(after))
	}
}

func TestALostStateIsMadeGoodFromTheLedger(t *testing.T) {
	w := newWorld(fake.Options{})
	log := &events{}
	if _, err := w.plugin.Build(t.Context(), w.build(provider.ActionApply), log); err != nil {
		t.Fatal(err)
	}
	w.cloud.LoseState("a3a37a0c-3a2f-4a9e-bf55-0d8c4f1e7b21")
	apply := w.build(provider.ActionApply)
	apply.Variables["nodes"] = json.RawMessage("2")
	apply.Ledger = log.made()
	result, err := w.plugin.Build(t.Context(), apply, log)
	if err != nil || len(result.Changes) != 0 || len(result.Resources) != 4 || len(result.LeftBehind) != 1 {
		t.Errorf("did %v, holds %d, left behind %v: %v", result.Changes, len(result.Resources), result.LeftBehind, err)
	}
}

func TestSnapshotsTakeTheirTime(t *testing.T) {
	w := newWorld(fake.Options{Settle: 2})
	req := provider.SnapshotRequest{
		Cluster: w.living.Cluster, Credentials: w.access.Credentials, Disks: w.living.Disks, Time: time.Unix(1767225600, 0),
	}
	for call, want := range []provider.SnapshotState{provider.SnapshotPending, provider.SnapshotPending, provider.SnapshotReady} {
		all, err := w.plugin.Snapshot(t.Context(), req)
		if err != nil || len(all) != 3 {
			t.Fatalf("call %d: %d answers: %v", call, len(all), err)
		}
		for i, one := range all {
			if one.State != want || one.Resource == nil || one.Disk.Handle != req.Disks[i].Handle {
				t.Errorf("call %d: disk %d: %+v, want %s", call, i, one, want)
			}
		}
	}
	swept, err := w.plugin.Sweep(t.Context(), w.sweep())
	if err != nil || len(swept.Backups) != 3 {
		t.Errorf("%d backups: %v", len(swept.Backups), err)
	}
}

func TestFaults(t *testing.T) {
	failure := provider.Unavailablef(time.Minute, "out of order")
	cases := map[string]struct {
		fault  fake.Fault
		err    error
		made   bool
		reason string
	}{
		"none":             {made: true, reason: "the verb does its work"},
		"fails":            {fault: fake.Fault{Err: failure}, err: failure, reason: "it fails before it acts"},
		"acts, then fails": {fault: fake.Fault{Err: failure, Acts: true}, err: failure, made: true, reason: "the host hears of a failure and the cloud has changed"},
		"hangs":            {fault: fake.Fault{Hang: true}, err: provider.Unavailable, reason: "it ends with its context"},
		"slow":             {fault: fake.Fault{Delay: time.Hour}, err: provider.Unavailable, reason: "a delay ends with the context too"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fake.Options{})
			w.plugin.SetFaults(fake.Faults{fake.VerbBuild: c.fault})
			ctx, cancel := context.WithCancel(t.Context())
			if c.fault.Hang || c.fault.Delay > 0 {
				cancel()
			}
			defer cancel()
			_, err := w.plugin.Build(ctx, w.build(provider.ActionApply), &events{})
			if !errors.Is(err, c.err) {
				t.Errorf("%s: got %v, want %v", c.reason, err, c.err)
			}
			if made := w.cloud.Writes() > 0; made != c.made {
				t.Errorf("%s: something was made: %t, want %t", c.reason, made, c.made)
			}
		})
	}
}

func TestAFaultStrikesAsOftenAsItSays(t *testing.T) {
	w := newWorld(fake.Options{})
	w.plugin.SetFaults(fake.Faults{
		fake.VerbSweep:   {Err: provider.Errorf(provider.Quota, "no more"), Times: 1},
		fake.VerbConfirm: {Padding: 1 << 20},
		fake.VerbConnect: {Panic: "a mistake"},
	})
	if _, err := w.plugin.Sweep(t.Context(), w.sweep()); !errors.Is(err, provider.Quota) {
		t.Errorf("the first call: %v", err)
	}
	if _, err := w.plugin.Sweep(t.Context(), w.sweep()); err != nil {
		t.Errorf("the second call: %v", err)
	}
	found, err := w.plugin.Confirm(t.Context(), w.confirm())
	if err != nil || len(found.NotLooked) == 0 || len(found.NotLooked[0].Why) != 1<<20 {
		t.Errorf("the answer is not padded: %v", err)
	}
	defer func() {
		if recover() != "a mistake" {
			t.Error("Connect did not panic")
		}
	}()
	_, _ = w.plugin.Connect(t.Context(), provider.ConnectRequest{})
}

func TestCredentialsAreAsNarrowAsAskedFor(t *testing.T) {
	w := newWorld(fake.Options{})
	for purpose, writes := range map[provider.Purpose]bool{
		provider.PurposeLook: false, provider.PurposeSnapshot: true, provider.PurposeBuild: true,
	} {
		minted, err := w.plugin.Mint(t.Context(), w.access.Account, provider.MintRequest{
			Cluster: w.living.Cluster, Purpose: purpose, Lifetime: time.Minute,
		})
		if err != nil || w.cloud.MayWrite(minted) != writes || minted.Expiry.IsZero() {
			t.Errorf("%s: writes %t, expiry %s: %v", purpose, w.cloud.MayWrite(minted), minted.Expiry, err)
		}
		req := w.build(provider.ActionApply)
		req.Credentials = minted
		if _, err := w.plugin.Build(t.Context(), req, &events{}); !errors.Is(err, provider.Denied) {
			t.Errorf("%s: credentials for one cluster built another: %v", purpose, err)
		}
	}
	w.cloud.Restrict("account-1", "things.delete")
	identity, err := w.plugin.Verify(t.Context(), w.access.Account)
	if err != nil || strings.Join(identity.Missing, ",") != "things.delete" {
		t.Errorf("missing %v: %v", identity.Missing, err)
	}
}

func TestManyCallersMakeEverythingOnce(t *testing.T) {
	w := newWorld(fake.Options{})
	req := provider.SnapshotRequest{
		Cluster: w.living.Cluster, Credentials: w.access.Credentials, Disks: w.living.Disks, Time: time.Unix(1767225600, 0),
	}
	before := len(w.cloud.Things())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := fake.New(w.cloud).Snapshot(context.Background(), req); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made := len(w.cloud.Things()) - before; made != 3 {
		t.Errorf("%d snapshots of 3 disks", made)
	}
	if err := fake.Facts().Check(); err != nil {
		t.Error(err)
	}
}
