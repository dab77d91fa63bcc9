// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// driver is the CSI driver of the cloud's disks. A volume's handle is the disk's ID.
const driver = "disk.csi.fake.example"

// Snapshot starts a snapshot of each disk or looks up the one of that name, and waits for none.
func (fake) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	c, err := openFor(ctx, req.Cluster, req.Credentials)
	if err != nil {
		return nil, err
	}
	all := make([]provider.Snapshot, 0, len(req.Disks))
	for n, disk := range req.Disks {
		one, err := c.snapshot(ctx, req, n)
		if err != nil && fatal(ctx, err) {
			return nil, verdict(ctx, err)
		}
		if err != nil {
			one = provider.Snapshot{Disk: disk, State: provider.SnapshotPending, Why: verdict(ctx, err).Error()}
		}
		all = append(all, one)
	}
	return all, nil
}

// snapshot is the answer for the disk at position n. Its error is the cloud's.
func (c cloud) snapshot(ctx context.Context, req provider.SnapshotRequest, n int) (provider.Snapshot, error) {
	disk := req.Disks[n]
	answer := provider.Snapshot{Disk: disk}
	if disk.Driver != driver {
		answer.State, answer.Why = provider.SnapshotUnsupported, fmt.Sprintf("the driver %s has no snapshots here", disk.Driver)
		return answer, nil
	}
	of, err := c.client.Get(ctx, disk.Handle, "")
	if errors.Is(err, httpcloud.CodeNotFound) {
		answer.State, answer.Why = provider.SnapshotFailed, "the cloud knows of no disk with this ID"
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	id := fmt.Sprintf("%s/ir-%s-%d-%d", httpcloud.KindSnapshot, req.Cluster.Name, req.Time.Unix(), n)
	thing, err := c.client.Put(ctx, id, httpcloud.Spec{
		Region: of.Region, Labels: labels(req.Cluster), Properties: map[string]string{"disk": disk.Handle, "infrared-role": string(provider.RoleSafetySnapshot)},
	})
	if err == nil {
		thing, err = c.client.Get(ctx, id, thing.Region)
	}
	if err != nil {
		return answer, err
	}
	resource := c.resource(thing, req.Cluster)
	answer.Resource = &resource
	switch thing.State {
	case httpcloud.StateAvailable:
		answer.State, answer.Restore = provider.SnapshotReady, fmt.Sprintf("fake disks create --from %s --region %s", id, thing.Region)
	case httpcloud.StateFailed:
		answer.State, answer.Why = provider.SnapshotFailed, "the cloud gave up on it"
		return answer, c.client.Delete(ctx, id) // so that the next call makes it anew
	default:
		answer.State, answer.Why = provider.SnapshotPending, "the cloud is copying the disk"
	}
	return answer, nil
}
