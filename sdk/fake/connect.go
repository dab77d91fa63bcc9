// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// Connect reaches a cluster of this cloud. It makes a token where it is asked for one, or where the cluster was just built.
func (p *Provider) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	return pass(ctx, p.gate, VerbConnect, func(c *provider.Connection, pad string) {
		c.NotLooked = append(c.NotLooked, provider.NotLooked{What: "padding", Why: pad})
	}, func() (provider.Connection, error) { return p.connect(ctx, req) })
}

func (p *Provider) connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	if err := checkCluster(req.Cluster); err != nil {
		return provider.Connection{}, err
	}
	if ctx.Err() != nil {
		return provider.Connection{}, stopped()
	}
	endpoint, err := p.wayIn(req)
	if err != nil {
		return provider.Connection{}, err
	}
	run, nodes, err := p.cloud.dial(endpoint.Server, endpoint.Token.Reveal())
	if err != nil {
		return provider.Connection{}, err
	}
	connection := provider.Connection{
		Endpoint: endpoint, Version: run.version, Nodes: &nodes, Region: "fake-1", Identity: copyIdentity(run.identity),
	}
	if req.Credentials.IsZero() {
		connection.NotLooked = everyKind("there are no credentials for the cloud: give some to see what the cluster holds")
		return connection, nil
	}
	s, err := p.cloud.open(req.Credentials)
	if err != nil {
		return provider.Connection{}, err
	}
	seen, err := p.look(ctx, s, req.Cluster, connection.Identity)
	if err != nil {
		return provider.Connection{}, err
	}
	connection.NotLooked = seen.notLooked
	for _, found := range seen.findings {
		if found.Resource.Role != provider.RoleSafetySnapshot {
			connection.Holds = append(connection.Holds, found.Resource)
		}
	}
	slices.SortFunc(connection.Holds, compareResources)
	return connection, nil
}

// wayIn is the request's endpoint, with a new token where one is due.
func (p *Provider) wayIn(req provider.ConnectRequest) (provider.Endpoint, error) {
	endpoint := provider.Endpoint{}
	if req.Endpoint != nil {
		endpoint = *req.Endpoint
		if req.RenewToken == 0 {
			return endpoint, nil
		}
	} else {
		var ca string
		if json.Unmarshal(req.Outputs["server"], &endpoint.Server) != nil || json.Unmarshal(req.Outputs["ca"], &ca) != nil {
			return endpoint, provider.Invalidf("outputs", "hold no server and ca: build the cluster, or register it with a kubeconfig")
		}
		endpoint.CA = []byte(ca)
	}
	token, expiry, err := p.cloud.grant(endpoint.Server, cmp.Or(req.RenewToken, 24*time.Hour))
	if err != nil {
		return endpoint, err
	}
	endpoint.Token, endpoint.Expiry = token, expiry
	return endpoint, nil
}

func copyIdentity(i provider.ClusterIdentity) provider.ClusterIdentity {
	i.Traits = maps.Clone(i.Traits)
	for name, values := range i.Traits {
		i.Traits[name] = slices.Clone(values)
	}
	return i
}

// everyKind says that nothing was looked at.
func everyKind(why string) []provider.NotLooked {
	var all []provider.NotLooked
	for _, kind := range Facts().Kinds {
		all = append(all, provider.NotLooked{What: kind.Name, Why: why})
	}
	return all
}
