// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

// attribution are the promises about whose a thing is.
func attribution() []Check {
	return []Check{
		{
			Name: "proof-given", Sentence: "Each thing that is called the cluster's has an ID, one of the proofs, and the proof in words.",
			needs: []need{needRecorded()}, run: proofGiven,
		},
		{
			Name: "other-clusters-spared", Sentence: "Another cluster's things are never the cluster's, however alike their names are.",
			needs: []need{needStrangers()},
			run: func(ctx context.Context, b *bench) {
				spared(ctx, b, func(s Strangers) []string { return s.Cluster })
			},
		},
		{
			Name: "other-incarnations-spared", Sentence: "Things of an earlier cluster that had the same name are never the cluster's.",
			needs: []need{needStrangers()},
			run: func(ctx context.Context, b *bench) {
				spared(ctx, b, func(s Strangers) []string { return s.Incarnation })
			},
		},
		{
			Name: "unused-is-no-proof", Sentence: "A thing that nobody uses is nobody's, and so is not the cluster's.",
			needs: []need{needStrangers()},
			run: func(ctx context.Context, b *bench) {
				spared(ctx, b, func(s Strangers) []string { return s.Unused })
			},
		},
		{
			Name: "recorded-found", Sentence: "Sweep looks at every recorded thing by its ID, and finds it where it is.",
			needs: []need{needRecorded()}, run: recordedFound,
		},
		{
			Name: "unrecorded-found", Sentence: "Sweep finds by label and by computed name what nobody has recorded.",
			needs: []need{needRecorded()}, run: unrecordedFound,
		},
	}
}

func proofGiven(ctx context.Context, b *bench) {
	found, ok := b.sweep(ctx)
	if !ok {
		return
	}
	proofs := []provider.Proof{provider.ProofRecorded, provider.ProofLabel, provider.ProofName}
	for _, r := range of(found.Present, found.Backups) {
		if r.ID == "" || r.Why == "" || !slices.Contains(proofs, r.Proof) {
			b.breach("Sweep calls the %s %q the cluster's by the proof %q, in words %q", r.Kind, r.ID, r.Proof, r.Why)
		}
	}
}

func spared(ctx context.Context, b *bench, which func(Strangers) []string) {
	strangers, err := b.Strangers(ctx)
	if !b.fine("the hook Strangers", err) {
		return
	}
	for verb, look := range b.looks() {
		found, err := look(ctx)
		if !b.fine(verb, err) {
			continue
		}
		seen := ids(of(found.Present, found.Absent, found.Unknown, found.Backups))
		if taken := common(which(strangers), seen); len(taken) > 0 {
			b.breach("%s calls %v the cluster's", verb, taken)
		}
	}
}

func recordedFound(ctx context.Context, b *bench) {
	req := b.sweepRequest()
	req.Recorded = slices.Clone(b.Recorded)
	found, err := b.Provider.Sweep(ctx, req)
	if !b.fine("Sweep", err) {
		return
	}
	if lost := missing(ids(b.Recorded), ids(of(found.Present, found.Backups))); len(lost) > 0 {
		b.breach("Sweep was told of %v, which are there, and found none of them", lost)
	}
}

func unrecordedFound(ctx context.Context, b *bench) {
	var lost []string
	if !b.until(ctx, func() bool {
		found, err := b.Provider.Sweep(ctx, b.sweepRequest())
		lost = missing(ids(b.Recorded), ids(of(found.Present, found.Backups)))
		return err == nil && len(lost) == 0
	}) {
		b.breach("Sweep found none of %v, which nobody told it of", lost)
	}
}
