// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// bench is one check at work: its world, and what it found wrong.
type bench struct {
	*World

	facts                provider.Facts
	soon, patience, pace time.Duration
	// restart starts the program once more; nil where there is none.
	restart func(ctx context.Context) (*program, error)
	// others are what was started once more.
	others []*program

	mu       sync.Mutex
	breaches []string
}

func (b *bench) breach(format string, args ...any) {
	b.breaches = append(b.breaches, fmt.Sprintf(format, args...))
}

// fine notes an error of something that had to work, and says whether there was none.
func (b *bench) fine(what string, err error) bool {
	if err != nil {
		b.breach("%s failed: %v", what, err)
	}
	return err == nil
}

// in puts the cloud into trouble for the rest of the check, or until mend is called.
func (b *bench) in(ctx context.Context, trouble Trouble) (mend func(), ok bool) {
	mend, err := b.Trouble[trouble](ctx)
	return mend, b.fine("the hook for "+string(trouble), err)
}

// things is what is in the cloud.
func (b *bench) things(ctx context.Context) map[string]string {
	all, err := b.Things(ctx)
	b.fine("the hook Things", err)
	return all
}

// added are the IDs in after that were not in before, sorted.
func added(before, after map[string]string) []string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(after)) {
		if _, old := before[id]; !old {
			all = append(all, id)
		}
	}
	return all
}

// unchanged notes what a verb wrote that writes nothing.
func (b *bench) unchanged(ctx context.Context, verb string, run func() error) {
	before := b.things(ctx)
	if !b.fine(verb, run()) {
		return
	}
	after := b.things(ctx)
	if maps.Equal(before, after) {
		return
	}
	for _, id := range added(before, after) {
		b.breach("%s made %s", verb, id)
	}
	for _, id := range added(after, before) {
		b.breach("%s took away %s", verb, id)
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if now, there := after[id]; there && now != before[id] {
			b.breach("%s changed %s", verb, id)
		}
	}
}

// until asks again until it is so; false: patience ended first.
func (b *bench) until(ctx context.Context, so func() bool) bool {
	end := time.NewTimer(b.patience)
	defer end.Stop()
	next := time.NewTicker(b.pace)
	defer next.Stop()
	for {
		if so() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-end.C:
			return false
		case <-next.C:
		}
	}
}

// confirmRequest asks for all recorded things.
func (b *bench) confirmRequest() provider.ConfirmRequest {
	return provider.ConfirmRequest{Cluster: b.Cluster, Identity: b.Identity, Credentials: b.Credentials, Recorded: slices.Clone(b.Recorded)}
}

// sweepRequest asks without anything that was recorded.
func (b *bench) sweepRequest() provider.SweepRequest {
	return provider.SweepRequest{Cluster: b.Cluster, Identity: b.Identity, Credentials: b.Credentials}
}

// connectRequest reaches the living cluster, with credentials for its cloud.
func (b *bench) connectRequest() provider.ConnectRequest { return *b.Connect }

// snapshotRequest asks for a snapshot of every disk.
func (b *bench) snapshotRequest() provider.SnapshotRequest {
	return provider.SnapshotRequest{
		Cluster: b.Cluster, Identity: b.Identity, Credentials: b.Credentials, Disks: slices.Clone(b.Disks),
		// A deletion that began at this time never was, so nothing has that name.
		Time: time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC),
	}
}

func (b *bench) confirm(ctx context.Context) (provider.Findings, bool) {
	found, err := b.Provider.Confirm(ctx, b.confirmRequest())
	return found, b.fine("Confirm", err)
}

func (b *bench) sweep(ctx context.Context) (provider.Findings, bool) {
	found, err := b.Provider.Sweep(ctx, b.sweepRequest())
	return found, b.fine("Sweep", err)
}

// run builds with a reporter that keeps the events.
func (b *bench) build(ctx context.Context, req provider.BuildRequest, action provider.Action) (provider.BuildResult, *events, error) {
	kept := &events{}
	req.Action = action
	result, err := b.Provider.Build(ctx, req, kept)
	return result, kept, err
}

// apply builds the cluster of Build, which must work.
func (b *bench) apply(ctx context.Context) (provider.BuildResult, *events, bool) {
	result, kept, err := b.build(ctx, *b.Build, provider.ActionApply)
	return result, kept, b.fine("Build apply", err)
}

// events keeps what a build reports. each, where it is set, sees an event before it is kept.
type events struct {
	each func(provider.Event)

	mu  sync.Mutex
	all []provider.Event
}

// Report implements provider.Reporter.
func (e *events) Report(event provider.Event) {
	if e.each != nil {
		e.each(event)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) list() []provider.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// made are what the events said was made, also what is gone since.
func (e *events) made() []provider.Resource {
	var all []provider.Resource
	for _, event := range e.list() {
		if event.Kind == provider.EventDone && event.Resource != nil {
			all = append(all, *event.Resource)
		}
	}
	return all
}

// ids are the resources' IDs, sorted.
func ids(resources []provider.Resource) []string {
	var all []string
	for _, r := range resources {
		all = append(all, r.ID)
	}
	slices.Sort(all)
	return all
}

// of are the resources of findings.
func of(lists ...[]provider.Finding) []provider.Resource {
	var all []provider.Resource
	for _, f := range slices.Concat(lists...) {
		all = append(all, f.Resource)
	}
	return all
}

// missing are those of want that got lacks, sorted.
func missing(want, got []string) []string {
	var all []string
	for _, id := range want {
		if !slices.Contains(got, id) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// common are those that are in both, sorted.
func common(a, b []string) []string {
	var all []string
	for _, id := range a {
		if slices.Contains(b, id) {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}
