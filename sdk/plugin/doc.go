// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin carries [provider.Provider] from one program to another. A plugin's author needs one call of it:
//
//	func main() { plugin.Serve(myProvider, facts) }
//
// The host's side starts such a program with [Dial] and gets a [provider.Provider] whose verbs run in it. Between the two is
// gRPC on a unix socket, by hashicorp/go-plugin; neither side sees a message of it.
//
// The author's side keeps these promises, so that no provider has to.
//
//   - Standard output is taken over before anything can print to it. What the plugin prints ends up on standard error, which
//     the host reads for ever.
//   - A panic in a verb is one typed error for the host, and a stack on standard error.
//   - When the host asks to stop, each running verb's context ends while its answer can still be sent; new calls are
//     refused. The host going away, however it went, does the same, and then the plugin exits.
//   - Errors, deadlines and cancelling reach the other side as what they were.
//
// What comes over the wire comes from a stranger, on both sides: it may be nothing, too much or newer than this code.
package plugin
