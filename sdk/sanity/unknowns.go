// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"errors"

	"darkshift.io/infrared/sdk/provider"
)

// unknowns are the promises about what is there, what is not, and what nobody knows.
func unknowns() []Check {
	unseen := func(name, sentence string, trouble Trouble) Check {
		return Check{
			Name: name, Sentence: sentence, needs: []need{needRecorded(), needTrouble(trouble)},
			run: func(ctx context.Context, b *bench) { neverAbsent(ctx, b, trouble) },
		}
	}
	return []Check{
		{
			Name: "gone-is-an-answer", Sentence: "A recorded thing that is gone is an answer, Absent, and no error.",
			needs: []need{needRecorded(), needRemove()}, run: goneIsAnAnswer,
		},
		{
			Name: "never-was-is-an-answer", Sentence: "A cluster that has nothing in the cloud is a clean answer and no error.",
			needs: []need{needRecorded()}, run: neverWasIsAnAnswer,
		},
		unseen("silent-zone-unknown", "What is in a zone that does not answer is unknown or not looked at, never absent.", ZoneSilent),
		unseen("refusal-unknown", "What the cloud refuses to show is unknown or not looked at, never absent.", KindRefused),
		unseen("throttle-unknown", "What a throttle kept from view is unknown or not looked at, never absent.", Throttled),
		unseen("expired-unknown", "What can't be seen with expired credentials is unknown or an error, never absent.", Expired),
		unseen("half-list-unknown", "A list that breaks off after a page is not looked at, whatever its first page said.", PageThrottled),
		unseen("empty-page-goes-on", "An empty page with a token is not the end of a list.", PageEmpty),
		unseen("list-is-no-proof", "Only its own API says that a recorded thing is absent: a list without it does not.", ListHides),
		{
			Name: "deleting-is-present", Sentence: "What is being deleted is present until it is gone.",
			needs: []need{needRecorded(), needDelete(), needThings()}, run: deletingIsPresent,
		},
	}
}

func goneIsAnAnswer(ctx context.Context, b *bench) {
	gone := b.Recorded[0]
	if !b.fine("the hook Remove", b.Remove(ctx, gone)) {
		return
	}
	found, ok := b.confirm(ctx)
	if ok && len(common([]string{gone.ID}, ids(of(found.Absent)))) == 0 {
		b.breach("Confirm does not call %s absent, which is gone", gone.ID)
	}
}

func neverWasIsAnAnswer(ctx context.Context, b *bench) {
	req := b.sweepRequest()
	req.Cluster.Name, req.Cluster.Incarnation = "never-was", "5b1d6c0a-7a55-4d1c-8f0e-2f4a6d9b3c11"
	req.Identity = provider.ClusterIdentity{}
	found, err := b.Provider.Sweep(ctx, req)
	if b.fine("Sweep of a cluster that never was", err) && !found.Clean() {
		b.breach("Sweep of a cluster that never was found %s and did not look at %d places", picture(found), len(found.NotLooked))
	}
}

// neverAbsent looks while the cloud is in trouble. All of the cluster's things are there all the time.
func neverAbsent(ctx context.Context, b *bench, trouble Trouble) {
	if trouble == ListHides || trouble == PageEmpty {
		// These two say nothing false: a look that is fooled by them is the only sign.
		foundAllTheSame(ctx, b, trouble)
		return
	}
	mend, ok := b.in(ctx, trouble)
	if !ok {
		return
	}
	defer mend()
	confirmed, err := b.Provider.Confirm(ctx, b.confirmRequest())
	if err == nil && len(confirmed.Absent) > 0 {
		b.breach("Confirm calls %v absent, which could not be seen", ids(of(confirmed.Absent)))
	}
	if err == nil && len(confirmed.Present)+len(confirmed.Unknown) == 0 {
		b.breach("Confirm says nothing of %v", ids(b.Recorded))
	}
	swept, err := b.Provider.Sweep(ctx, b.sweepRequest())
	lost := missing(ids(b.Recorded), ids(of(swept.Present, swept.Unknown, swept.Backups)))
	if err == nil && len(lost) > 0 && len(swept.NotLooked) == 0 {
		b.breach("Sweep does not find %v, and names no place that it did not look at", lost)
	}
}

// foundAllTheSame looks before and in the trouble.
func foundAllTheSame(ctx context.Context, b *bench, trouble Trouble) {
	before, ok := b.sweep(ctx)
	if !ok {
		return
	}
	mend, ok := b.in(ctx, trouble)
	if !ok {
		return
	}
	defer mend()
	confirmed, err := b.Provider.Confirm(ctx, b.confirmRequest())
	if err == nil && len(confirmed.Absent) > 0 {
		b.breach("Confirm calls %v absent, which are there", ids(of(confirmed.Absent)))
	}
	if trouble == ListHides {
		return
	}
	swept, err := b.Provider.Sweep(ctx, b.sweepRequest())
	lost := missing(ids(of(before.Present)), ids(of(swept.Present, swept.Unknown)))
	if err == nil && len(lost) > 0 && len(swept.NotLooked) == 0 {
		b.breach("Sweep does not find %v any more, and names no place that it did not look at", lost)
	}
}

func deletingIsPresent(ctx context.Context, b *bench) {
	going := b.Recorded[0]
	if !b.fine("the hook Delete", b.Delete(ctx, going)) {
		return
	}
	found, ok := b.confirm(ctx)
	if !ok {
		return
	}
	if _, there := b.things(ctx)[going.ID]; !there {
		b.breach("the hook Delete let %s go at once: it must be there while it is being deleted", going.ID)
		return
	}
	if len(common([]string{going.ID}, ids(of(found.Absent)))) > 0 {
		b.breach("Confirm calls %s absent, which is still being deleted", going.ID)
	}
}

// is says whether an error is of a kind.
func is(err error, kind provider.ErrorKind) bool { return errors.Is(err, kind) }
