// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// everyVerb are the promises that hold for every verb.
func everyVerb() []Check {
	return []Check{
		{
			Name: "repeat-same-answer", Sentence: "A look that is made again, in a world that has not changed, finds the same.",
			needs: []need{needRecorded()}, run: repeatSameAnswer,
		},
		{
			Name: "looks-at-once", Sentence: "Looks at one cluster may run at once, and all succeed.",
			needs: []need{needRecorded()}, run: looksAtOnce,
		},
		{
			Name: "nothing-kept", Sentence: "Credentials of one call are never used for another.",
			needs: []need{needRecorded(), needCredentials()}, run: nothingKept,
		},
		{
			Name: "tenants-apart", Sentence: "Calls of two tenants at once are each answered from the tenant's own account.",
			needs: []need{needRecorded(), needTenant()}, run: tenantsApart,
		},
		{
			Name: "other-process-goes-on", Sentence: "What one process of the plugin has begun, another goes on with by the request alone.",
			needs: []need{needDisks(), needAgain()}, run: otherProcessGoesOn,
		},
		{
			Name: "ctx-ends-soon", Sentence: "When its context ends, a verb returns within seconds, also while the cloud does not answer.",
			needs: []need{needTrouble(Silent), needRecorded()}, run: ctxEndsSoon,
		},
		{
			Name: "same-cause-same-text", Sentence: "The same cause gives the same text: no times, no request IDs, no counters.",
			needs: []need{needBadCredentials(), needRecorded()}, run: sameCauseSameText,
		},
		{
			Name: "lists-sorted", Sentence: "Lists of things are sorted by kind, then by ID.",
			needs: []need{needRecorded()}, run: listsSorted,
		},
		{
			Name: "no-secret-in-errors", Sentence: "No secret is in the text of an error.",
			needs: []need{needBadCredentials()}, run: noSecretInErrors,
		},
		{
			Name: "no-secret-in-answers", Sentence: "No secret is in an answer but where its type is Secret.",
			needs: []need{needCredentials(), needRecorded()}, run: noSecretInAnswers,
		},
		{
			Name: "no-secret-in-events", Sentence: "No secret is in an event.",
			needs: []need{needCredentials(), needBuild()}, run: noSecretInEvents,
		},
		{
			Name: "no-secret-in-output", Sentence: "No secret is in what a plugin prints or logs.",
			needs: []need{needCredentials(), needBadCredentials(), needOutput()}, run: noSecretInOutput,
		},
	}
}

// looks are the verbs that only look, as functions that give their findings.
func (b *bench) looks() map[string]func(context.Context) (provider.Findings, error) {
	all := map[string]func(context.Context) (provider.Findings, error){
		"Confirm": func(ctx context.Context) (provider.Findings, error) {
			return b.Provider.Confirm(ctx, b.confirmRequest())
		},
		"Sweep": func(ctx context.Context) (provider.Findings, error) {
			return b.Provider.Sweep(ctx, b.sweepRequest())
		},
	}
	if b.Connect != nil {
		all["Connect"] = func(ctx context.Context) (provider.Findings, error) {
			connection, err := b.Provider.Connect(ctx, b.connectRequest())
			var found provider.Findings
			for _, r := range connection.Holds {
				found.Present = append(found.Present, provider.Finding{Resource: r})
			}
			return found, err
		}
	}
	return all
}

// picture is which things are in which list.
func picture(f provider.Findings) string {
	return fmt.Sprintf("present %v, absent %v, unknown %v, backups %v", ids(of(f.Present)), ids(of(f.Absent)), ids(of(f.Unknown)), ids(of(f.Backups)))
}

func repeatSameAnswer(ctx context.Context, b *bench) {
	for verb, look := range b.looks() {
		first, err := look(ctx)
		if !b.fine(verb, err) {
			continue
		}
		second, err := look(ctx)
		if b.fine("the second "+verb, err) && picture(first) != picture(second) {
			b.breach("%s found %s, and then %s", verb, picture(first), picture(second))
		}
	}
}

// atOnce is how many calls run at the same time.
const atOnce = 8

func looksAtOnce(ctx context.Context, b *bench) {
	for verb, look := range b.looks() {
		var group sync.WaitGroup
		errs := make([]error, atOnce)
		for i := range atOnce {
			group.Go(func() { _, errs[i] = look(ctx) })
		}
		group.Wait()
		b.fine(verb+" at the same time as another", errors.Join(errs...))
	}
}

func nothingKept(ctx context.Context, b *bench) {
	if _, ok := b.sweep(ctx); !ok {
		return
	}
	if _, ok := b.confirm(ctx); !ok {
		return
	}
	sweep, confirm := b.sweepRequest(), b.confirmRequest()
	sweep.Credentials, confirm.Credentials = provider.Credentials{}, provider.Credentials{}
	if found, err := b.Provider.Sweep(ctx, sweep); err == nil && len(found.Present) > 0 {
		b.breach("Sweep found %v without credentials, after a call that had some", ids(of(found.Present)))
	}
	if found, err := b.Provider.Confirm(ctx, confirm); err == nil && len(found.Present) > 0 {
		b.breach("Confirm found %v without credentials, after a call that had some", ids(of(found.Present)))
	}
}

func tenantsApart(ctx context.Context, b *bench) {
	other := provider.ConfirmRequest{
		Cluster: b.Tenant.Cluster, Identity: b.Tenant.Identity, Credentials: b.Tenant.Credentials, Recorded: slices.Clone(b.Tenant.Recorded),
	}
	var group sync.WaitGroup
	for range atOnce {
		for _, req := range []provider.ConfirmRequest{b.confirmRequest(), other} {
			group.Go(func() {
				found, err := b.Provider.Confirm(ctx, req)
				b.mu.Lock()
				defer b.mu.Unlock()
				lost := missing(ids(req.Recorded), ids(of(found.Present)))
				if b.fine("Confirm for "+req.Cluster.Name, err) && len(lost) > 0 {
					b.breach("Confirm for %s, beside another tenant's, does not find %v", req.Cluster.Name, lost)
				}
			})
		}
	}
	group.Wait()
	slices.Sort(b.breaches)
	b.breaches = slices.Compact(b.breaches)
}

func otherProcessGoesOn(ctx context.Context, b *bench) {
	first, ok := b.started(ctx, b.Cluster)
	if !ok {
		return
	}
	other, err := b.Again(ctx)
	if !b.fine("another process", err) {
		return
	}
	second, err := other.Snapshot(ctx, b.snapshotRequest())
	if b.fine("Snapshot by another process", err) && !slices.Equal(snapshotIDs(first), snapshotIDs(second)) {
		b.breach("one process started the snapshots %v, and another %v", snapshotIDs(first), snapshotIDs(second))
	}
}

// calls are all verbs that the world has a request for, with these credentials, as functions that give all they answer.
func (b *bench) calls(credentials provider.Credentials) map[string]func(context.Context) (any, error) {
	sweep, confirm, snapshot := b.sweepRequest(), b.confirmRequest(), b.snapshotRequest()
	sweep.Credentials, confirm.Credentials, snapshot.Credentials = credentials, credentials, credentials
	all := map[string]func(context.Context) (any, error){
		"Sweep":   func(ctx context.Context) (any, error) { return b.Provider.Sweep(ctx, sweep) },
		"Confirm": func(ctx context.Context) (any, error) { return b.Provider.Confirm(ctx, confirm) },
	}
	if len(b.Disks) > 0 {
		all["Snapshot"] = func(ctx context.Context) (any, error) { return b.Provider.Snapshot(ctx, snapshot) }
	}
	if b.Connect != nil {
		connect := b.connectRequest()
		connect.Credentials = credentials
		all["Connect"] = func(ctx context.Context) (any, error) { return b.Provider.Connect(ctx, connect) }
	}
	if b.Build != nil {
		build := *b.Build
		build.Credentials = credentials
		all["Build plan"] = func(ctx context.Context) (any, error) {
			result, _, err := b.build(ctx, build, provider.ActionPlan)
			return result, err
		}
	}
	return all
}

func ctxEndsSoon(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, Silent)
	if !ok {
		return
	}
	defer mend()
	for verb, call := range b.calls(b.Credentials) {
		// It ends while the call waits for the cloud, or else before it, which is no easier.
		ended, end := context.WithTimeout(ctx, 20*time.Millisecond)
		if !b.within(ended, call) {
			b.breach("%s still runs %s after its context ended", verb, b.soon)
		}
		end()
	}
}

// within says whether a call returns soon.
func (b *bench) within(ctx context.Context, call func(context.Context) (any, error)) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = call(ctx)
	}()
	return b.closed(done)
}

func sameCauseSameText(ctx context.Context, b *bench) {
	for verb, call := range b.calls(b.BadCredentials) {
		_, first := call(ctx)
		_, second := call(ctx)
		if first != nil && second != nil && first.Error() != second.Error() {
			b.breach("%s said %q, and then %q", verb, first, second)
		}
	}
	first, ok := b.confirm(ctx)
	if !ok {
		return
	}
	second, ok := b.confirm(ctx)
	if ok && reasons(first) != reasons(second) {
		b.breach("Confirm gave the reasons %s, and then %s", reasons(first), reasons(second))
	}
}

// reasons are the texts of findings, by ID.
func reasons(f provider.Findings) string {
	var all []string
	for _, one := range slices.Concat(f.Present, f.Absent, f.Unknown, f.Backups) {
		all = append(all, fmt.Sprintf("%s: %s (%s)", one.Resource.ID, one.Why, one.Resource.Why))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func listsSorted(ctx context.Context, b *bench) {
	for verb, look := range b.looks() {
		found, err := look(ctx)
		if !b.fine(verb, err) {
			continue
		}
		for name, list := range map[string][]provider.Finding{
			"Present": found.Present, "Absent": found.Absent, "Unknown": found.Unknown, "Backups": found.Backups,
		} {
			if !slices.IsSortedFunc(of(list), compareResources) {
				b.breach("%s: %s is not sorted by kind and ID", verb, name)
			}
		}
	}
}

func compareResources(a, b provider.Resource) int {
	if a.Kind != b.Kind {
		return strings.Compare(a.Kind, b.Kind)
	}
	return strings.Compare(a.ID, b.ID)
}

// shortest is how long a value must be to be looked for: a shorter one is in many a text by chance.
const shortest = 6

// secrets are all that the world's requests hold in secret, each under the name by which a breach calls it.
func (b *bench) secrets() map[string]string {
	all := map[string]string{}
	add := func(name string, secret provider.Secret) {
		if text := secret.Reveal(); len(text) >= shortest {
			all[name] = text
		}
	}
	for what, credentials := range map[string]provider.Credentials{"Credentials": b.Credentials, "BadCredentials": b.BadCredentials} {
		for name, secret := range credentials.Values {
			if !slices.Contains(b.Open, name) {
				add(what+"["+name+"]", secret)
			}
		}
	}
	if b.Connect != nil && b.Connect.Endpoint != nil {
		add("Connect.Endpoint.Token", b.Connect.Endpoint.Token)
		add("Connect.Endpoint.ClientKey", b.Connect.Endpoint.ClientKey)
	}
	if b.Account != nil {
		add("Account.ExternalID", b.Account.ExternalID)
		add("Account.Token", b.Account.Token)
	}
	return all
}

// leaks notes each secret that is in a text, and never the text itself.
func (b *bench) leaks(where, text string) {
	for name, secret := range b.secrets() {
		if strings.Contains(text, secret) {
			b.breach("%s shows the value of %s", where, name)
		}
	}
}

func noSecretInErrors(ctx context.Context, b *bench) {
	for verb, call := range b.calls(b.BadCredentials) {
		if _, err := call(ctx); err != nil {
			b.leaks("the error of "+verb, err.Error())
		}
	}
}

func noSecretInAnswers(ctx context.Context, b *bench) {
	for verb, call := range b.calls(b.Credentials) {
		answer, err := call(ctx)
		if !b.fine(verb, err) {
			continue
		}
		// A Secret writes itself as [redacted], so what is found here is anywhere else.
		text, err := json.Marshal(answer)
		if b.fine("writing the answer of "+verb+" as JSON", err) {
			b.leaks("the answer of "+verb, string(text))
		}
	}
}

func noSecretInEvents(ctx context.Context, b *bench) {
	_, kept, ok := b.apply(ctx)
	if !ok {
		return
	}
	for _, event := range kept.list() {
		text, err := json.Marshal(event)
		if b.fine("writing an event as JSON", err) {
			b.leaks(fmt.Sprintf("the event %s of %s", event.Kind, event.Address), string(text))
		}
	}
}

func noSecretInOutput(ctx context.Context, b *bench) {
	for _, credentials := range []provider.Credentials{b.Credentials, b.BadCredentials} {
		for _, call := range b.calls(credentials) {
			_, _ = call(ctx)
		}
	}
	b.leaks("the output", b.Output())
}
