// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"
	"fmt"

	"darkshift.io/infrared/sdk/provider"
)

// Snapshot starts a snapshot of each disk or looks up the one of that name, and waits for none.
func (p *Provider) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	return pass(ctx, p.gate, VerbSnapshot, func(all *[]provider.Snapshot, pad string) {
		for i := range min(1, len(*all)) {
			(*all)[i].Why += pad
		}
	}, func() ([]provider.Snapshot, error) {
		if err := checkCluster(req.Cluster); err != nil {
			return nil, err
		}
		s, err := p.cloud.open(req.Credentials)
		if err != nil {
			return nil, err
		}
		all := make([]provider.Snapshot, 0, len(req.Disks))
		for n, disk := range req.Disks {
			one, err := p.snapshot(ctx, s, req, n)
			if err != nil && fatal(ctx, err) {
				return nil, err
			}
			if err != nil {
				one = provider.Snapshot{Disk: disk, State: provider.SnapshotPending, Why: err.Error()}
			}
			all = append(all, one)
		}
		return all, nil
	})
}

// snapshot is the answer for the disk at position n.
func (p *Provider) snapshot(ctx context.Context, s session, req provider.SnapshotRequest, n int) (provider.Snapshot, error) {
	disk := req.Disks[n]
	answer := provider.Snapshot{Disk: disk}
	if disk.Driver != Driver {
		answer.State, answer.Why = provider.SnapshotUnsupported, fmt.Sprintf("the driver %s has no snapshots here", disk.Driver)
		return answer, nil
	}
	_, err := p.cloud.get(ctx, s, KindDisk, disk.Zone, disk.Handle)
	if errors.Is(err, errNotFound) {
		answer.State, answer.Why = provider.SnapshotFailed, "the cloud knows of no disk with this ID"
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	name := fmt.Sprintf("ir-%s-%d-%d", req.Cluster.Name, req.Time.Unix(), n)
	thing, err := p.cloud.create(ctx, s, Thing{
		Kind: KindSnapshot, Name: name, Labels: labels(req.Cluster), Traits: map[string]string{"disk": disk.Handle},
		Role: provider.RoleSafetySnapshot,
	})
	if err != nil {
		return answer, err
	}
	if thing, err = p.cloud.get(ctx, s, KindSnapshot, "", thing.ID); err != nil {
		return answer, err
	}
	resource := thing.resource(provider.ProofLabel, fmt.Sprintf("label %s=%s", LabelIncarnation, req.Cluster.Incarnation))
	answer.Resource = &resource
	switch thing.State {
	case StateAvailable:
		answer.State = provider.SnapshotReady
		answer.Restore = fmt.Sprintf("fake disks create --from %s --zone %s", thing.ID, disk.Zone)
	case StateFailed, StateDeleting:
		answer.State, answer.Why = provider.SnapshotFailed, "the cloud gave up on it"
		// So that the next call makes it anew.
		if err := p.cloud.discard(ctx, s, thing.ID); err != nil {
			return answer, err
		}
	case StatePending:
		answer.State, answer.Why = provider.SnapshotPending, "the cloud is copying the disk"
	}
	return answer, nil
}

// discard deletes a snapshot that failed.
func (c *Cloud) discard(ctx context.Context, s session, id string) error {
	if err := c.enter(ctx, s, rightSnapshot); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if t := c.things[id]; t != nil && t.Account == s.account && t.State == StateFailed {
		c.writes++
		delete(c.things, id)
	}
	return nil
}
