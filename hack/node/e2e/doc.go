// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the node against a real control plane: etcd, API server,
// scheduler and controller manager, as `ir dev up` runs them in a folder of the
// tests' own. There is nothing in it but tests.
package e2e
