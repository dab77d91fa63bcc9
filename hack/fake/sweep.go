// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

// Sweep goes through every list for the cluster's things, and looks at the recorded ones that no list had by their IDs.
func (fake) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	c, err := openFor(ctx, req.Cluster, req.Credentials)
	if err != nil {
		return provider.Findings{}, err
	}
	things, notLooked, err := c.of(ctx, req.Cluster)
	if err != nil {
		return provider.Findings{}, err
	}
	found := provider.Findings{NotLooked: notLooked}
	listed := map[string]bool{}
	for _, t := range things {
		listed[t.ID] = true
		found.Present = append(found.Present, provider.Finding{Resource: c.resource(t, req.Cluster), Why: "listed in " + t.Region, State: t.State})
	}
	for _, recorded := range req.Recorded {
		if listed[recorded.ID] {
			continue
		}
		if err := c.confirm(ctx, recorded, &found); err != nil {
			return provider.Findings{}, err
		}
	}
	// Safety snapshots carry the cluster's labels too, and stay.
	backup := func(f provider.Finding) bool { return f.Resource.Role == provider.RoleSafetySnapshot }
	for _, f := range found.Present {
		if backup(f) {
			found.Backups = append(found.Backups, f)
		}
	}
	found.Present = slices.DeleteFunc(found.Present, backup)
	sortFindings(&found)
	return found, nil
}
