// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// Confirm looks at each recorded thing by its ID. Only the cloud's own word makes it absent.
func (fake) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	c, err := openFor(ctx, req.Cluster, req.Credentials)
	if err != nil {
		return provider.Findings{}, err
	}
	var found provider.Findings
	for _, recorded := range req.Recorded {
		if err := c.confirm(ctx, recorded, &found); err != nil {
			return provider.Findings{}, err
		}
	}
	sortFindings(&found)
	return found, nil
}

// confirm puts one recorded thing where it belongs. An error is about the whole call.
func (c cloud) confirm(ctx context.Context, recorded provider.Resource, found *provider.Findings) error {
	t, err := c.client.Get(ctx, recorded.ID, recorded.Location)
	finding := provider.Finding{Resource: recorded, State: t.State}
	switch {
	case errors.Is(err, httpcloud.CodeNotFound):
		finding.Why = "asked for by its ID: the cloud knows of none"
		found.Absent = append(found.Absent, finding)
	case err != nil && fatal(ctx, err):
		return verdict(ctx, err)
	case err != nil:
		finding.Why = verdict(ctx, err).Error()
		found.Unknown = append(found.Unknown, finding)
	default:
		finding.Why = "asked for by its ID: the cloud has it"
		found.Present = append(found.Present, finding)
	}
	return nil
}
