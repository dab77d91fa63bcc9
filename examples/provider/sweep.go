// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"darkshift.io/infrared/sdk/provider"
)

// Sweep looks through every zone for things with the cluster's labels, and at the recorded ones that it did not meet there.
func (folder) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	c, err := open(ctx, req.Credentials, rightLook)
	if err != nil {
		return provider.Findings{}, err
	}
	defer c.close()
	things, notLooked, err := c.of(ctx, req.Cluster)
	if err != nil {
		return provider.Findings{}, err
	}
	found := provider.Findings{NotLooked: notLooked}
	met := map[string]bool{}
	for _, t := range things {
		met[t.id()] = true
		found.Present = append(found.Present, provider.Finding{Resource: t.resource(c.path), Why: "listed in zone " + t.Zone})
	}
	for _, recorded := range req.Recorded {
		if met[recorded.ID] {
			continue
		}
		if err := c.confirm(ctx, recorded, &found); err != nil {
			return provider.Findings{}, err
		}
	}
	found.Present, found.Backups = splitBackups(found.Present)
	sortFindings(&found)
	return found, nil
}

// of lists the things that carry the cluster's labels with this incarnation, and the places that nobody saw.
func (c *cloud) of(ctx context.Context, of provider.Cluster) ([]thing, []provider.NotLooked, error) {
	var ours []thing
	var notLooked []provider.NotLooked
	for _, zone := range zones() {
		all, err := c.list(ctx, zone)
		if ctx.Err() != nil {
			return nil, nil, stopped()
		}
		if err != nil {
			for _, kind := range facts().Kinds {
				notLooked = append(notLooked, provider.NotLooked{What: kind.Name, Where: zone, Why: err.Error()})
			}
		}
		for _, t := range all {
			if t.is(of) {
				ours = append(ours, t)
			}
		}
	}
	return ours, notLooked, nil
}

// splitBackups takes out the safety snapshots, which stay.
func splitBackups(all []provider.Finding) (present, backups []provider.Finding) {
	for _, f := range all {
		if f.Resource.Role == provider.RoleSafetySnapshot {
			backups = append(backups, f)
		} else {
			present = append(present, f)
		}
	}
	return present, backups
}
