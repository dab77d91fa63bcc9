// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providers keeps the kind Provider: which plugins there are, how they fare, what they can do, and who uses them.
//
// The [Reconciler] has the host run the program that a Provider names, and writes into its status what the host and the plugin
// say. A plugin that fails shows as what it is, in words; nothing else suffers from it. A Provider that Clusters use stays: a policy
// refuses its deletion, and a finalizer keeps it where the policy was passed by.
//
// The [Registry] finds the plugin for a cloud. It goes by what the Providers' statuses say, not by what runs now, so that a
// plugin that is down is still the one for its cloud.
//
// Where two Providers are for one cloud, the older one has it. The other's plugin is stopped.
package providers
