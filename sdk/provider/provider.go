// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider is what a plugin author writes against: the interface between Infrared, which knows Kubernetes and no
// cloud, and a cloud. It imports nothing but Go's own library.
//
// A plugin is a program. Its main hands a [Provider] and its [Facts] to the SDK's Serve; Infrared starts the program and
// calls the verbs over gRPC. Author and host see the types of this package only, never the wire.
//
// Four things hold for every verb.
//
//   - It may be called again with the same arguments, at any time, by a host that has forgotten the first call, also while
//     that call still runs. It then continues what was begun, or confirms what is there. So names of things made outside
//     are computed from the request, and looked up before anything is made.
//   - Not there is an answer, never an error. Errors are of the eight kinds in [Kinds].
//   - What could not be looked at is unknown, never absent: a zone that did not answer, a refusal, a throttle, an expired
//     token, an empty page with a token for the next.
//   - All it needs comes with the call, credentials included, and nothing of it is kept: one process serves every tenant.
//     Secrets are of type [Secret], which never prints.
//
// When ctx ends, the verb returns soon and leaves things so that the next call can go on.
package provider

import "context"

// Provider is one cloud, or whatever else clusters can be had from.
//
// The host calls the verbs from many goroutines at once, also for the same cluster; it sets a deadline on every ctx.
type Provider interface {
	// Connect reaches the cluster, and says how it is reached and which cluster it is. It writes to the cluster only what
	// gives access to one that was built: a ServiceAccount, its binding and a token.
	//
	// The host calls it after a build, every few minutes afterwards, and before a deletion. What it says of the cluster's
	// identity is written down while the cluster lives, because nothing can be attributed once it is gone.
	//
	// Invalid: the request's way in can't be used. Unauthenticated, Denied: the cluster or the cloud refuses. Unavailable:
	// it does not answer, which is not to say that it is gone.
	Connect(ctx context.Context, req ConnectRequest) (Connection, error)

	// Build plans, applies or destroys the cluster, as the request's Action says, and reports its progress. It takes
	// minutes to hours, and runs in a Job of its own. With an error, the result still says what was made before it.
	//
	// An apply of what is there already changes nothing, a destroy of what is gone succeeds. When ctx ends, Build stops in
	// order: what it has begun is finished or written down, and every thing made is in the result or was reported.
	//
	// Invalid: a variable or the template, with the field. Conflict: another run holds the state, or the plan that was to be
	// applied is no longer what would happen. Quota: the cloud has no more of it for this account.
	Build(ctx context.Context, req BuildRequest, r Reporter) (BuildResult, error)

	// Snapshot starts a snapshot of each disk of the request, or looks up the one that was started, and returns at once
	// without waiting for it. There is one answer a disk, in the order of the request. The host calls it again until every
	// one is ready. A disk that can't be snapshotted is an answer with its reason.
	Snapshot(ctx context.Context, req SnapshotRequest) ([]Snapshot, error)

	// Confirm looks at each of the recorded things and says whether it is present, absent or unknown, each with why. Every
	// thing of the request is in exactly one of the three. It changes nothing. The host calls it until several looks,
	// spread over time, found all absent.
	Confirm(ctx context.Context, req ConfirmRequest) (Findings, error)

	// Sweep looks for everything that is provably the cluster's, recorded or not, and says what it could not look at. It
	// deletes nothing and changes nothing. The host calls it after a deletion, and daily while anything is left.
	Sweep(ctx context.Context, req SweepRequest) (Findings, error)
}

// Accounts is implemented by a provider whose cloud gives short-lived credentials through a role. Whether it is there is
// said once, at the handshake, as [CapabilityAccounts].
type Accounts interface {
	// Verify reaches the account through its role, and says whose it is and what the role lacks. It changes nothing. The
	// host calls it when a cloud account is added or changed, and daily. A role that is too small is an answer; one that can't
	// be used at all is Unauthenticated or Denied.
	Verify(ctx context.Context, account Account) (Identity, error)

	// Mint makes credentials for one purpose and cluster, no wider and no longer than asked for. Every call may make new
	// ones. Their expiry is the cloud's answer, which may be sooner than what was asked for.
	Mint(ctx context.Context, account Account, req MintRequest) (Credentials, error)
}

// Reporter takes the events of a Build, in order. It drops none, may make the caller wait while the host is slow, and does
// nothing once the call's ctx has ended. It may be called from several goroutines.
type Reporter interface {
	Report(e Event)
}

// Capability is an optional part of a provider.
type Capability string

// CapabilityAccounts says that the provider implements [Accounts].
const CapabilityAccounts Capability = "Accounts"

// Capabilities lists the optional parts that p implements, sorted. The SDK calls it once, when the plugin starts: the host
// goes by this list and never tries.
func Capabilities(p Provider) []Capability {
	var has []Capability
	if _, ok := p.(Accounts); ok {
		has = append(has, CapabilityAccounts)
	}
	return has
}
