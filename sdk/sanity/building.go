// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// building are the promises of Build.
func building() []Check {
	return []Check{
		{
			Name: "plan-changes-nothing", Sentence: "A plan changes nothing.",
			needs: []need{needBuild(), needThings()},
			run: func(ctx context.Context, b *bench) {
				b.unchanged(ctx, "Build plan", func() error {
					_, _, err := b.build(ctx, *b.Build, provider.ActionPlan)
					return err
				})
			},
		},
		{
			Name: "plan-has-a-digest", Sentence: "The same plan of the same state has the same digest.",
			needs: []need{needBuild()}, run: planHasADigest,
		},
		{
			Name: "stale-plan-refused", Sentence: "An apply of a plan that is no longer what would happen is a Conflict, and changes nothing.",
			needs: []need{needBuild(), needThings()}, run: stalePlanRefused,
		},
		{
			Name: "apply-again-idle", Sentence: "An apply of what is there already changes nothing.",
			needs: []need{needBuild()}, run: applyAgainIdle,
		},
		{
			Name: "builds-at-once", Sentence: "Of two builds of one cluster at once, one at most is a Conflict, and every thing is made once.",
			needs: []need{needBuild(), needThings()}, run: buildsAtOnce,
		},
		{
			Name: "built-is-found", Sentence: "All that Build makes is labelled, so that Sweep finds it without a record.",
			needs: []need{needBuild()}, run: builtIsFound,
		},
		{
			Name: "destroy-takes-all", Sentence: "A destroy takes away all that applies made.",
			needs: []need{needBuild(), needThings()}, run: destroyTakesAll,
		},
		{
			Name: "destroy-of-gone", Sentence: "A destroy of what is gone, or never was, succeeds.",
			needs: []need{needBuild()}, run: destroyOfGone,
		},
		{
			Name: "destructive-first", Sentence: "Changes that destroy something come first; those of either sort are sorted by address.",
			needs: []need{needBuild(), needRebuild()}, run: destructiveFirst,
		},
		{
			Name: "made-is-reported", Sentence: "Every thing that a build made is in an event Done before the build ends.",
			needs: []need{needBuild()}, run: madeIsReported,
		},
		{
			Name: "events-before-end", Sentence: "No event comes after the end of the build.",
			needs: []need{needBuild()}, run: eventsBeforeEnd,
		},
		{
			Name: "invalid-names-field", Sentence: "A request that can't be carried out as it is, is Invalid and names the field.",
			needs: []need{needBadBuild()}, run: invalidNamesField,
		},
		{
			Name: "cut-build-goes-on", Sentence: "A build that its context cut short is gone on with by the next.",
			needs: []need{needBuild()}, run: cutBuildGoesOn,
		},
		{
			Name: "cut-build-accounted", Sentence: "Every thing that a build made before it was cut short is in an event or in its result.",
			needs: []need{needBuild(), needThings()}, run: cutBuildAccounted,
		},
		{
			Name: "failed-build-accounted", Sentence: "Every thing that a build made before it failed is in an event or in its result.",
			needs: []need{needBuild(), needThings(), needTrouble(QuotaShort)}, run: failedBuildAccounted,
		},
		{
			Name: "ledger-accounted", Sentence: "Every thing of the ledger is in the result, as part of the cluster or as left behind, unless it is gone.",
			needs: []need{needBuild(), needRecorded()}, run: ledgerAccounted,
		},
	}
}

func planHasADigest(ctx context.Context, b *bench) {
	first, _, err := b.build(ctx, *b.Build, provider.ActionPlan)
	if !b.fine("Build plan", err) {
		return
	}
	second, _, err := b.build(ctx, *b.Build, provider.ActionPlan)
	if b.fine("the second Build plan", err) && (first.PlanDigest == "" || first.PlanDigest != second.PlanDigest) {
		b.breach("the digest of the same plan was %q, and then %q", first.PlanDigest, second.PlanDigest)
	}
}

func stalePlanRefused(ctx context.Context, b *bench) {
	req := *b.Build
	req.PlanDigest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	before := b.things(ctx)
	_, _, err := b.build(ctx, req, provider.ActionApply)
	if !is(err, provider.Conflict) {
		b.breach("an apply of another plan gave %q, of the kind %q", err, provider.KindOf(err))
	}
	if made := added(before, b.things(ctx)); len(made) > 0 {
		b.breach("an apply of another plan made %v", made)
	}
}

func applyAgainIdle(ctx context.Context, b *bench) {
	if _, _, ok := b.apply(ctx); !ok {
		return
	}
	if again, _, ok := b.apply(ctx); ok && len(again.Changes) > 0 {
		b.breach("the second apply did %v", again.Changes)
	}
}

// buildsAtOnce holds a first build at its first event until a second one has ended, or waits itself.
func buildsAtOnce(ctx context.Context, b *bench) {
	before := b.things(ctx)
	began, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	held := &events{each: func(provider.Event) {
		once.Do(func() {
			close(began)
			<-goOn
		})
	}}
	apply := *b.Build
	apply.Action = provider.ActionApply
	var first, second error
	var result provider.BuildResult
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		result, first = b.Provider.Build(ctx, apply, held)
	}()
	select {
	case <-began:
	case <-ended:
	}
	other := make(chan struct{})
	go func() {
		defer close(other)
		_, second = b.Provider.Build(ctx, apply, &events{})
	}()
	b.closed(other)
	close(goOn)
	<-ended
	<-other

	for _, err := range []error{first, second} {
		if err != nil && !is(err, provider.Conflict) {
			b.breach("a build at the same time as another gave %q, of the kind %q", err, provider.KindOf(err))
		}
	}
	if first != nil && second != nil {
		b.breach("both builds gave up for the other's sake")
	}
	if made := added(before, b.things(ctx)); first == nil && len(made) != len(result.Resources) {
		b.breach("two builds at once made %v: the cluster is %v", made, ids(result.Resources))
	}
}

// closed waits for a channel to close, for as long as soon is.
func (b *bench) closed(done <-chan struct{}) bool {
	timer := time.NewTimer(b.soon)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func builtIsFound(ctx context.Context, b *bench) {
	result, _, ok := b.apply(ctx)
	if !ok {
		return
	}
	var lost []string
	if !b.until(ctx, func() bool {
		found, err := b.Provider.Sweep(ctx, provider.SweepRequest{Cluster: b.Build.Cluster, Credentials: b.Build.Credentials})
		lost = missing(ids(result.Resources), ids(of(found.Present)))
		return err == nil && len(lost) == 0
	}) {
		b.breach("Sweep does not find %v, which Build made", lost)
	}
}

func destroyTakesAll(ctx context.Context, b *bench) {
	before := b.things(ctx)
	if _, _, ok := b.apply(ctx); !ok {
		return
	}
	if _, _, err := b.build(ctx, *b.Build, provider.ActionDestroy); !b.fine("Build destroy", err) {
		return
	}
	var left []string
	if !b.until(ctx, func() bool {
		// A cloud may go on deleting only when it is looked at.
		_, _ = b.Provider.Sweep(ctx, provider.SweepRequest{Cluster: b.Build.Cluster, Credentials: b.Build.Credentials})
		left = added(before, b.things(ctx))
		return len(left) == 0
	}) {
		b.breach("Build destroy left %v", left)
	}
}

func destroyOfGone(ctx context.Context, b *bench) {
	_, _, err := b.build(ctx, *b.Build, provider.ActionDestroy)
	b.fine("a destroy of what never was", err)
	if _, _, ok := b.apply(ctx); !ok {
		return
	}
	_, _, err = b.build(ctx, *b.Build, provider.ActionDestroy)
	b.fine("Build destroy", err)
	_, _, err = b.build(ctx, *b.Build, provider.ActionDestroy)
	b.fine("a destroy of what is gone", err)
}

func destructiveFirst(ctx context.Context, b *bench) {
	if _, _, ok := b.apply(ctx); !ok {
		return
	}
	result, _, err := b.build(ctx, *b.Rebuild, provider.ActionPlan)
	if !b.fine("Build plan of Rebuild", err) {
		return
	}
	destructive := slices.ContainsFunc(result.Changes, func(c provider.Change) bool { return c.Operation.Destructive() })
	if len(result.Changes) < 2 || !destructive {
		b.breach("Rebuild must destroy something and do one thing more, and does %v", result.Changes)
		return
	}
	if !slices.IsSortedFunc(result.Changes, compareChanges) {
		b.breach("the plan lists %v", result.Changes)
	}
}

func compareChanges(x, y provider.Change) int {
	switch destroys := x.Operation.Destructive(); {
	case destroys == y.Operation.Destructive():
		return strings.Compare(x.Address, y.Address)
	case destroys:
		return -1
	default:
		return 1
	}
}
