// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// The functions here look at how builds end: well, badly, or cut short.

func madeIsReported(ctx context.Context, b *bench) {
	result, kept, ok := b.apply(ctx)
	if !ok {
		return
	}
	if lost := missing(ids(result.Resources), ids(kept.made())); len(lost) > 0 {
		b.breach("no event told of %v, which Build made", lost)
	}
}

// linger is how long to listen for events that must not come.
const linger = 200 * time.Millisecond

func eventsBeforeEnd(ctx context.Context, b *bench) {
	var mu sync.Mutex
	ended, late := false, make(chan provider.Event, 1)
	kept := &events{each: func(e provider.Event) {
		mu.Lock()
		defer mu.Unlock()
		if ended {
			select {
			case late <- e:
			default:
			}
		}
	}}
	apply := *b.Build
	apply.Action = provider.ActionApply
	_, err := b.Provider.Build(ctx, apply, kept)
	mu.Lock()
	ended = true
	mu.Unlock()
	if !b.fine("Build apply", err) {
		return
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case e := <-late:
		b.breach("the event %s of %s came after the end", e.Kind, e.Address)
	case <-timer.C:
	}
}

func invalidNamesField(ctx context.Context, b *bench) {
	_, _, err := b.build(ctx, *b.BadBuild, provider.ActionPlan)
	if !is(err, provider.Invalid) {
		b.breach("Build with something wrong gave %q, of the kind %q", err, provider.KindOf(err))
		return
	}
	if field := fieldOf(err); field != b.BadField {
		b.breach("the error names the field %q: it is %q", field, b.BadField)
	}
}

// cut applies and winds the build down at the first thing that was made: by the context's end, or for a program by Stop, as
// the host does it.
func (b *bench) cut(ctx context.Context) (provider.BuildResult, *events) {
	apply := *b.Build
	apply.Action = provider.ActionApply
	ctx, end := context.WithCancel(ctx)
	defer end()
	builder, wind := b.Provider, end
	if b.restart != nil {
		running, err := b.restart(ctx)
		if !b.fine("starting another process of the plugin", err) {
			return provider.BuildResult{}, &events{}
		}
		var group sync.WaitGroup
		defer group.Wait()
		builder, wind = running.plugin.Provider(), func() { group.Go(func() { running.stop(ctx) }) }
		defer running.stop(ctx)
	}
	var once sync.Once
	kept := &events{each: func(e provider.Event) {
		if e.Kind == provider.EventDone {
			once.Do(wind)
		}
	}}
	// Whether it could still end well does not matter.
	result, _ := builder.Build(ctx, apply, kept)
	return result, kept
}

func cutBuildGoesOn(ctx context.Context, b *bench) {
	b.cut(ctx)
	// A plugin in a process of its own may still be winding the first run down.
	var err error
	var result provider.BuildResult
	if !b.until(ctx, func() bool {
		result, _, err = b.build(ctx, *b.Build, provider.ActionApply)
		return !is(err, provider.Conflict)
	}) {
		b.breach("the next build is still refused: %v", err)
		return
	}
	if b.fine("the next build", err) && len(result.Resources) == 0 {
		b.breach("the next build made nothing")
	}
}

func cutBuildAccounted(ctx context.Context, b *bench) {
	before := b.things(ctx)
	result, kept := b.cut(ctx)
	b.accounted(ctx, before, result, kept)
}

func failedBuildAccounted(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, QuotaShort)
	if !ok {
		return
	}
	defer mend()
	before := b.things(ctx)
	result, kept, err := b.build(ctx, *b.Build, provider.ActionApply)
	if err == nil {
		b.breach("Build succeeded beyond the quota")
	}
	b.accounted(ctx, before, result, kept)
}

// accounted notes what is there since before and that nobody told of.
func (b *bench) accounted(ctx context.Context, before map[string]string, result provider.BuildResult, kept *events) {
	told := slices.Concat(ids(result.Resources), ids(result.LeftBehind), ids(kept.made()))
	if lost := missing(added(before, b.things(ctx)), told); len(lost) > 0 {
		b.breach("%v were made, and neither events nor the result tell of them", lost)
	}
}

func ledgerAccounted(ctx context.Context, b *bench) {
	_, kept, ok := b.apply(ctx)
	if !ok {
		return
	}
	req := *b.Build
	// The first is there and has no place in the template, as what a killed run made under another name.
	req.Ledger = append([]provider.Resource{b.Recorded[0]}, kept.made()...)
	result, _, err := b.build(ctx, req, provider.ActionApply)
	if !b.fine("Build apply with a ledger", err) {
		return
	}
	told := slices.Concat(ids(result.Resources), ids(result.LeftBehind))
	if lost := missing(ids(req.Ledger), told); len(lost) > 0 {
		b.breach("%v are in the ledger and there, and neither in the result's resources nor left behind", slices.Sorted(maps.Keys(set(lost))))
	}
}

func set(all []string) map[string]bool {
	unique := map[string]bool{}
	for _, one := range all {
		unique[one] = true
	}
	return unique
}
