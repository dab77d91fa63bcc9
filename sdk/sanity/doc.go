// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sanity is the conformance kit: it tells the author of a provider whether it keeps the contract. There is one check
// for each promise of docs/contract.md, under the promise's own name.
//
//	func TestContract(t *testing.T) {
//		sanity.Test(t, sanity.Config{Facts: facts(), World: newWorld})
//	}
//
// A [Config] says how a [World] is made. A world is a cloud, or something that stands for one, in which one cluster lives
// and another may be built; every check gets its own. A world also has hooks by which the kit does what no verb can: take
// a thing away, put a stranger's beside it, let a zone fall silent. Every hook may be left out: one that
// is nil makes the kit leave out the checks which need it, and say so by name.
//
// With Config.Binary the same checks run against the compiled program, as the host starts it.
package sanity
