// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"fmt"
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

// sight is what a look over all lists saw of one cluster.
type sight struct {
	findings  []provider.Finding
	notLooked []provider.NotLooked
}

// look goes through every list of the account for the cluster's things: by our label with this incarnation, or by a name
// that is computed from a UID of the cluster. An error is about the whole look.
func (p *Provider) look(ctx context.Context, s session, of provider.Cluster, identity provider.ClusterIdentity) (sight, error) {
	var seen sight
	names := computedNames(identity)
	for _, kind := range Facts().Kinds {
		for _, zone := range append([]string{""}, p.cloud.Zones()...) {
			things, err := p.pages(ctx, s, kind.Name, zone)
			if err != nil && fatal(ctx, err) {
				return sight{}, err
			}
			if err != nil {
				seen.notLooked = append(seen.notLooked, provider.NotLooked{What: kind.Name, Where: zone, Why: err.Error()})
			}
			for _, t := range things {
				if resource, ours := attribute(t, of, names); ours {
					seen.findings = append(seen.findings, provider.Finding{
						Resource: resource, Why: "listed " + where(zone), State: string(t.State),
					})
				}
			}
		}
	}
	sortFindings(seen.findings)
	return seen, nil
}

// attribute says whether a thing is the cluster's, and by what.
func attribute(t Thing, of provider.Cluster, names []string) (provider.Resource, bool) {
	if t.Labels[LabelIncarnation] == of.Incarnation && t.Labels[LabelCluster] == of.Name {
		return t.resource(provider.ProofLabel, fmt.Sprintf("label %s=%s", LabelIncarnation, of.Incarnation)), true
	}
	if slices.Contains(names, t.Name) {
		return t.resource(provider.ProofName, fmt.Sprintf("the name %s is computed from a UID of the cluster", t.Name)), true
	}
	return provider.Resource{}, false
}

// computedNames are the names that the cluster's own controllers give to what they make.
func computedNames(identity provider.ClusterIdentity) []string {
	var names []string
	for _, volume := range identity.Traits[traitVolumes] {
		names = append(names, "pvc-"+volume)
	}
	for _, service := range identity.Traits[traitServices] {
		names = append(names, balancerName(service))
	}
	return names
}
