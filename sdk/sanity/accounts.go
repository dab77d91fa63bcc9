// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// accounts are the promises of Verify and Mint.
func accounts() []Check {
	return []Check{
		{
			Name: "declared-works", Sentence: "A capability that is declared is never Unsupported.",
			needs: []need{needAccounts()}, run: declaredWorks,
		},
		{
			Name: "verify-writes-nothing", Sentence: "Verify changes nothing.",
			needs: []need{needAccounts(), needThings()},
			run: func(ctx context.Context, b *bench) {
				b.unchanged(ctx, "Verify", func() error {
					_, err := b.Provider.(provider.Accounts).Verify(ctx, *b.Account)
					return declared(err)
				})
			},
		},
		{
			Name: "verify-says-whose", Sentence: "Verify says whose the role is, from the cloud's answer.",
			needs: []need{needAccounts()}, run: verifySaysWhose,
		},
		{
			Name: "small-role-is-an-answer", Sentence: "A role that is too small is an answer with the missing rights, sorted, and no error.",
			needs: []need{needAccounts(), needTrouble(RoleSmall)}, run: smallRoleIsAnAnswer,
		},
		{
			Name: "mint-works", Sentence: "Credentials for a purpose are enough for that purpose's verbs.",
			needs: []need{needAccounts()}, run: mintWorks,
		},
		{
			Name: "mint-fits-purpose", Sentence: "Credentials for looking let nothing be written.",
			needs: []need{needAccounts(), needCanWrite()}, run: mintFitsPurpose,
		},
		{
			Name: "mint-ends", Sentence: "Credentials have an expiry, which is no later than was asked for.",
			needs: []need{needAccounts()}, run: mintEnds,
		},
	}
}

// declared is an error that is not Unsupported. That one is a breach of declared-works alone.
func declared(err error) error {
	if is(err, provider.Unsupported) {
		return nil
	}
	return err
}

func declaredWorks(ctx context.Context, b *bench) {
	a := b.Provider.(provider.Accounts)
	if _, err := a.Verify(ctx, *b.Account); is(err, provider.Unsupported) {
		b.breach("Verify: %v", err)
	}
	if _, err := a.Mint(ctx, *b.Account, provider.MintRequest{Cluster: b.Cluster, Purpose: provider.PurposeLook}); is(err, provider.Unsupported) {
		b.breach("Mint: %v", err)
	}
}

func verifySaysWhose(ctx context.Context, b *bench) {
	identity, err := b.Provider.(provider.Accounts).Verify(ctx, *b.Account)
	if is(err, provider.Unsupported) || !b.fine("Verify", err) {
		return
	}
	if identity.Account == "" || identity.Principal == "" {
		b.breach("Verify says that the role is %q of the account %q", identity.Principal, identity.Account)
	}
}

func smallRoleIsAnAnswer(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, RoleSmall)
	if !ok {
		return
	}
	defer mend()
	identity, err := b.Provider.(provider.Accounts).Verify(ctx, *b.Account)
	if is(err, provider.Unsupported) || !b.fine("Verify of a role that is too small", err) {
		return
	}
	if len(identity.Missing) == 0 || !slices.IsSorted(identity.Missing) {
		b.breach("Verify says that the role lacks %q", strings.Join(identity.Missing, ", "))
	}
}

// mint makes credentials for looking.
func (b *bench) mint(ctx context.Context, lifetime time.Duration) (provider.Credentials, bool) {
	credentials, err := b.Provider.(provider.Accounts).Mint(ctx, *b.Account, provider.MintRequest{
		Cluster: b.Cluster, Purpose: provider.PurposeLook, Lifetime: lifetime,
	})
	if is(err, provider.Unsupported) {
		return credentials, false
	}
	return credentials, b.fine("Mint", err)
}

func mintWorks(ctx context.Context, b *bench) {
	credentials, ok := b.mint(ctx, 0)
	if !ok {
		return
	}
	req := b.sweepRequest()
	req.Credentials = credentials
	_, err := b.Provider.Sweep(ctx, req)
	b.fine("Sweep with credentials for looking", err)
}

func mintFitsPurpose(ctx context.Context, b *bench) {
	credentials, ok := b.mint(ctx, 0)
	if !ok {
		return
	}
	writes, err := b.CanWrite(ctx, credentials)
	if b.fine("the hook CanWrite", err) && writes {
		b.breach("credentials for looking let things be written")
	}
}

// skew is how far the cloud's clock may be from ours.
const skew = time.Minute

func mintEnds(ctx context.Context, b *bench) {
	const lifetime = time.Hour
	credentials, ok := b.mint(ctx, lifetime)
	if !ok {
		return
	}
	latest := time.Now().Add(lifetime + skew)
	if credentials.Expiry.IsZero() || credentials.Expiry.After(latest) {
		b.breach("credentials that were asked for for %s end at %s", lifetime, credentials.Expiry)
	}
}

// facts are the promises about what a plugin says of itself.
func facts() []Check {
	return []Check{
		{
			Name: "facts-valid", Sentence: "The facts pass their own check.",
			run: func(_ context.Context, b *bench) { b.fine("Facts.Check", b.facts.Check()) },
		},
		{
			Name: "facts-sorted", Sentence: "Templates and kinds of the facts are sorted by name.",
			run: func(_ context.Context, b *bench) {
				if !slices.IsSortedFunc(b.facts.Templates, func(x, y provider.Template) int { return strings.Compare(x.Name, y.Name) }) {
					b.breach("the templates are not sorted by name")
				}
				if !slices.IsSortedFunc(b.facts.Kinds, func(x, y provider.Kind) int { return strings.Compare(x.Name, y.Name) }) {
					b.breach("the kinds are not sorted by name")
				}
			},
		},
	}
}
