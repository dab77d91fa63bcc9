// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

// Confirm looks at each recorded thing by its ID. Only the folder's own word makes it absent.
func (folder) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	c, err := open(ctx, req.Credentials, rightLook)
	if err != nil {
		return provider.Findings{}, err
	}
	defer c.close()
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
func (c *cloud) confirm(ctx context.Context, recorded provider.Resource, found *provider.Findings) error {
	_, err := c.get(ctx, recorded.ID)
	finding := provider.Finding{Resource: recorded}
	switch {
	case ctx.Err() != nil:
		return stopped()
	case errors.Is(err, errGone):
		finding.Why = "its zone answers, and has no such file"
		found.Absent = append(found.Absent, finding)
	case err != nil:
		finding.Why = err.Error()
		found.Unknown = append(found.Unknown, finding)
	default:
		finding.Why = "its file is there"
		found.Present = append(found.Present, finding)
	}
	return nil
}

// sortFindings sorts by kind, then by ID, so that the same findings are the same answer.
func sortFindings(found *provider.Findings) {
	for _, list := range [][]provider.Finding{found.Present, found.Absent, found.Unknown, found.Backups} {
		slices.SortFunc(list, func(a, b provider.Finding) int { return compareResources(a.Resource, b.Resource) })
	}
}

func compareResources(a, b provider.Resource) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}
