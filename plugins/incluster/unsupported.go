// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"darkshift.io/infrared/sdk/provider"
)

// Build says that nothing can be built yet.
func (inCluster) Build(context.Context, provider.BuildRequest, provider.Reporter) (provider.BuildResult, error) {
	return provider.BuildResult{}, unsupported("build clusters")
}

// Snapshot says that no disk can be backed up yet.
func (inCluster) Snapshot(context.Context, provider.SnapshotRequest) ([]provider.Snapshot, error) {
	return nil, unsupported("take snapshots of disks")
}

// Confirm says that nothing can be looked at yet, which is not to say that anything is gone.
func (inCluster) Confirm(context.Context, provider.ConfirmRequest) (provider.Findings, error) {
	return provider.Findings{}, unsupported("tell whether things are gone")
}

// Sweep says that nothing can be looked for yet, which is not to say that nothing is left.
func (inCluster) Sweep(context.Context, provider.SweepRequest) (provider.Findings, error) {
	return provider.Findings{}, unsupported("look for what a cluster leaves behind")
}

func unsupported(what string) error {
	return provider.Errorf(provider.Unsupported, "the plugin incluster %s can't %s: it only registers clusters that are there", version, what)
}
