// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tries the Job of a run on a real kubelet: what the process node can't prove. `make test-node` runs it, as root on Linux,
// and nothing else does: its tests have the build tag realnode, so that `make test` needs neither root nor a container engine.
// Nothing in here skips: a machine that can't run it fails with what is missing.
package e2e
