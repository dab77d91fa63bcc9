// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

// findings are the promises of Confirm and Sweep about the shape of what they find.
func findings() []Check {
	return []Check{
		{
			Name: "confirm-writes-nothing", Sentence: "Confirm changes nothing.",
			needs: []need{needRecorded(), needThings()},
			run: func(ctx context.Context, b *bench) {
				b.unchanged(ctx, "Confirm", func() error {
					_, err := b.Provider.Confirm(ctx, b.confirmRequest())
					return err
				})
			},
		},
		{
			Name: "sweep-writes-nothing", Sentence: "Sweep deletes nothing and changes nothing.",
			needs: []need{needThings()},
			run: func(ctx context.Context, b *bench) {
				b.unchanged(ctx, "Sweep", func() error {
					_, err := b.Provider.Sweep(ctx, b.sweepRequest())
					return err
				})
			},
		},
		{
			Name: "exactly-one-list", Sentence: "Confirm puts each thing it was asked about into exactly one of present, absent and unknown, and no other.",
			needs: []need{needRecorded()}, run: exactlyOneList,
		},
		{
			Name: "findings-say-why", Sentence: "Each finding says on what it rests.",
			needs: []need{needRecorded()}, run: findingsSayWhy,
		},
		{
			Name: "not-looked-says-why", Sentence: "What was not looked at says which kind or part it is, and why.",
			needs: []need{needTrouble(ZoneSilent)}, run: notLookedSaysWhy,
		},
		{
			Name: "kinds-declared", Sentence: "The kind of each thing found is among the kinds of the facts.",
			needs: []need{needRecorded()}, run: kindsDeclared,
		},
		{
			Name: "unknown-price-is-nil", Sentence: "A price that is not known is nil, which is not 0.",
			needs: []need{needUnpriced()}, run: unknownPriceIsNil,
		},
	}
}

func exactlyOneList(ctx context.Context, b *bench) {
	found, ok := b.confirm(ctx)
	if !ok {
		return
	}
	count := map[string]int{}
	for _, r := range of(found.Present, found.Absent, found.Unknown) {
		count[r.ID]++
	}
	for _, id := range ids(b.Recorded) {
		if count[id] != 1 {
			b.breach("Confirm has %s %d times in its lists", id, count[id])
		}
		delete(count, id)
	}
	if len(count) > 0 {
		b.breach("Confirm lists %d things that it was not asked about", len(count))
	}
}

func findingsSayWhy(ctx context.Context, b *bench) {
	confirmed, ok := b.confirm(ctx)
	if !ok {
		return
	}
	swept, ok := b.sweep(ctx)
	if !ok {
		return
	}
	for verb, found := range map[string]provider.Findings{"Confirm": confirmed, "Sweep": swept} {
		for _, f := range slices.Concat(found.Present, found.Absent, found.Unknown, found.Backups) {
			if f.Why == "" {
				b.breach("%s does not say why it answers so about %s", verb, f.Resource.ID)
			}
		}
	}
}

func notLookedSaysWhy(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, ZoneSilent)
	if !ok {
		return
	}
	defer mend()
	found, err := b.Provider.Sweep(ctx, b.sweepRequest())
	if err != nil {
		return
	}
	for _, n := range found.NotLooked {
		if n.What == "" || n.Why == "" {
			b.breach("Sweep did not look at %q in %q because %q", n.What, n.Where, n.Why)
		}
	}
}

func kindsDeclared(ctx context.Context, b *bench) {
	found, ok := b.sweep(ctx)
	if !ok {
		return
	}
	for _, r := range of(found.Present, found.Absent, found.Unknown, found.Backups) {
		if !slices.ContainsFunc(b.facts.Kinds, func(k provider.Kind) bool { return k.Name == r.Kind }) {
			b.breach("%s is of the kind %q, which the facts do not have", r.ID, r.Kind)
		}
	}
}

func unknownPriceIsNil(ctx context.Context, b *bench) {
	found, ok := b.sweep(ctx)
	if !ok {
		return
	}
	for _, r := range of(found.Present) {
		if slices.Contains(b.Unpriced, r.ID) && r.Hourly != nil {
			b.breach("%s costs %s an hour, although nobody knows its price", r.ID, *r.Hourly)
		}
	}
}

// failing are the promises about errors.
func failing() []Check {
	return []Check{
		{
			Name: "bad-credentials-told", Sentence: "Credentials that the cloud refuses are Unauthenticated, by every verb.",
			needs: []need{needBadCredentials(), needRecorded()}, run: badCredentialsTold,
		},
		{
			Name: "throttle-says-when", Sentence: "A throttle is Unavailable, with the time to wait.",
			needs: []need{needTrouble(Throttled), needBuild()}, run: throttleSaysWhen,
		},
		{
			Name: "quota-told", Sentence: "An account that may have no more is Quota.",
			needs: []need{needTrouble(QuotaShort), needBuild()}, run: quotaTold,
		},
		{
			Name: "no-templates-unsupported", Sentence: "A provider without templates answers Build with Unsupported.",
			needs: []need{needNoTemplates()}, run: noTemplatesUnsupported,
		},
	}
}

func badCredentialsTold(ctx context.Context, b *bench) {
	for verb, call := range b.calls(b.BadCredentials) {
		answer, err := call(ctx)
		switch {
		case err != nil && !is(err, provider.Unauthenticated):
			b.breach("%s with bad credentials gave %q, of the kind %q", verb, err, provider.KindOf(err))
		case err == nil && verb != "Connect":
			// A registered cluster can be reached without its cloud.
			b.breach("%s with bad credentials answered %s", verb, fmt.Sprintf("%T", answer))
		}
	}
}

func throttleSaysWhen(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, Throttled)
	if !ok {
		return
	}
	defer mend()
	for verb, call := range b.calls(b.Credentials) {
		_, err := call(ctx)
		var typed *provider.Error
		if err == nil {
			continue
		}
		if !errors.As(err, &typed) || typed.Kind != provider.Unavailable || typed.After <= 0 {
			b.breach("%s gave %q under a throttle, of the kind %q and without a time to wait", verb, err, provider.KindOf(err))
		}
	}
}

func quotaTold(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, QuotaShort)
	if !ok {
		return
	}
	defer mend()
	if _, _, err := b.build(ctx, *b.Build, provider.ActionApply); !is(err, provider.Quota) {
		b.breach("Build beyond the quota gave %q, of the kind %q", err, provider.KindOf(err))
	}
}

func noTemplatesUnsupported(ctx context.Context, b *bench) {
	req := provider.BuildRequest{Cluster: b.Cluster, Credentials: b.Credentials}
	if _, _, err := b.build(ctx, req, provider.ActionPlan); !is(err, provider.Unsupported) {
		b.breach("Build gave %q, of the kind %q", err, provider.KindOf(err))
	}
}

// fieldOf is the field that an error names.
func fieldOf(err error) string {
	var typed *provider.Error
	if !errors.As(err, &typed) {
		return ""
	}
	return typed.Field
}
