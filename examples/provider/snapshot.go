// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"darkshift.io/infrared/sdk/provider"
)

// driver is the CSI driver whose disks are in the folder.
const driver = "folder.example.com"

// Snapshot starts a snapshot of each disk, or looks up the one of that name. Copying a file takes no time, so each is ready
// at once. A real cloud answers Pending, and Snapshot returns all the same: the host calls again.
func (folder) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	c, err := open(ctx, req.Credentials, rightSnapshot)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var all []provider.Snapshot
	for n, disk := range req.Disks {
		name := fmt.Sprintf("ir-%s-%d-%d", req.Cluster.Name, req.Time.Unix(), n)
		answer, err := c.snapshot(ctx, req.Cluster, disk, name)
		if ctx.Err() != nil {
			return nil, stopped()
		}
		if err != nil {
			// The others go on. The next call tries this one again.
			answer = provider.Snapshot{State: provider.SnapshotPending, Why: err.Error()}
		}
		answer.Disk = disk
		all = append(all, answer)
	}
	return all, nil
}

func (c *cloud) snapshot(ctx context.Context, of provider.Cluster, disk provider.Disk, name string) (provider.Snapshot, error) {
	if disk.Driver != driver {
		return provider.Snapshot{State: provider.SnapshotUnsupported, Why: fmt.Sprintf("disks of the driver %q are not in the folder", disk.Driver)}, nil
	}
	original, err := c.get(ctx, disk.Handle)
	if errors.Is(err, errGone) {
		return provider.Snapshot{State: provider.SnapshotFailed, Why: "the folder has no such disk"}, nil
	}
	if err != nil {
		return provider.Snapshot{}, err
	}
	t, err := c.create(ctx, thing{
		Kind: kindSnapshot, Name: name, Zone: original.Zone, Role: provider.RoleSafetySnapshot,
		Labels: labels(of), Settings: map[string]string{"disk": disk.Handle},
	})
	if err != nil {
		return provider.Snapshot{}, err
	}
	resource := t.resource(c.path)
	return provider.Snapshot{
		State: provider.SnapshotReady, Resource: &resource,
		Restore: fmt.Sprintf("cp things/%s.json things/%s.json", t.id(), disk.Handle),
	}, nil
}

func labels(of provider.Cluster) map[string]string {
	return map[string]string{labelCluster: of.Name, labelIncarnation: of.Incarnation}
}
