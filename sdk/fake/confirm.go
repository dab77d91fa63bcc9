// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"

	"darkshift.io/infrared/sdk/provider"
)

// Confirm looks at each recorded thing by its ID.
func (p *Provider) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	return pass(ctx, p.gate, VerbConfirm, padFindings, func() (provider.Findings, error) {
		if err := checkCluster(req.Cluster); err != nil {
			return provider.Findings{}, err
		}
		s, err := p.cloud.open(req.Credentials)
		if err != nil {
			return provider.Findings{}, err
		}
		var found provider.Findings
		for _, recorded := range req.Recorded {
			if err := p.confirm(ctx, s, recorded, &found); err != nil {
				return provider.Findings{}, err
			}
		}
		sortFindings(found.Present, found.Absent, found.Unknown)
		return found, nil
	})
}

// confirm puts one recorded thing where it belongs.
func (p *Provider) confirm(ctx context.Context, s session, recorded provider.Resource, found *provider.Findings) error {
	t, err := p.cloud.get(ctx, s, recorded.Kind, recorded.Location, recorded.ID)
	finding := provider.Finding{Resource: recorded, State: string(t.State)}
	switch {
	case errors.Is(err, errNotFound):
		finding.Why = "asked for by its ID: the cloud knows of none"
		found.Absent = append(found.Absent, finding)
	case err != nil && fatal(ctx, err):
		return err
	case err != nil:
		finding.Why = err.Error()
		found.Unknown = append(found.Unknown, finding)
	default:
		finding.Why = "asked for by its ID: the cloud has it"
		found.Present = append(found.Present, finding)
	}
	return nil
}

func padFindings(f *provider.Findings, pad string) {
	f.NotLooked = append(f.NotLooked, provider.NotLooked{What: "padding", Why: pad})
}
