// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"

	"darkshift.io/infrared/sdk/provider"
)

// Sweep goes through every list for the cluster's things, and looks at the recorded ones that no list had by their IDs.
func (p *Provider) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	return pass(ctx, p.gate, VerbSweep, padFindings, func() (provider.Findings, error) { return p.sweep(ctx, req) })
}

func (p *Provider) sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	if err := checkCluster(req.Cluster); err != nil {
		return provider.Findings{}, err
	}
	s, err := p.cloud.open(req.Credentials)
	if err != nil {
		return provider.Findings{}, err
	}
	seen, err := p.look(ctx, s, req.Cluster, req.Identity)
	if err != nil {
		return provider.Findings{}, err
	}
	found := provider.Findings{NotLooked: seen.notLooked}
	listed := map[string]bool{}
	for _, f := range seen.findings {
		listed[f.Resource.ID] = true
		found.Present = append(found.Present, f)
	}
	for _, recorded := range req.Recorded {
		if listed[recorded.ID] {
			continue
		}
		if err := p.confirm(ctx, s, recorded, &found); err != nil {
			return provider.Findings{}, err
		}
	}
	found.Present, found.Backups = splitBackups(found.Present)
	sortFindings(found.Present, found.Absent, found.Unknown, found.Backups)
	return found, nil
}

// splitBackups takes the safety snapshots out: they carry the cluster's labels too, and stay.
func splitBackups(present []provider.Finding) (rest, backups []provider.Finding) {
	for _, f := range present {
		if f.Resource.Role == provider.RoleSafetySnapshot {
			backups = append(backups, f)
		} else {
			rest = append(rest, f)
		}
	}
	return rest, backups
}
