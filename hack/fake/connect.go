// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"

	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// Connect asks the cluster itself who it is, which the SDK does for every cloud alike, and the cloud what it holds of it. Into a
// cluster that was just built it first makes a way, with the short-lived one that the cloud gives an administrator.
func (fake) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	if err := checkCluster(req.Cluster); err != nil {
		return provider.Connection{}, err
	}
	endpoint, err := wayIn(ctx, req)
	if err != nil {
		return provider.Connection{}, err
	}
	req.Endpoint, req.RenewToken = endpoint, 0
	connection, err := connect.Serve(ctx, req)
	if err != nil {
		return provider.Connection{}, err
	}
	if req.Credentials.IsZero() {
		for _, kind := range facts().Kinds {
			connection.NotLooked = append(connection.NotLooked, provider.NotLooked{
				What: kind.Name, Why: "there are no credentials for the cloud: give some to see what the cluster holds",
			})
		}
		return connection, nil
	}
	c, err := open(ctx, req.Credentials)
	if err != nil {
		return provider.Connection{}, err
	}
	return connection, c.describe(ctx, req.Cluster, &connection)
}

// wayIn is the request's endpoint, with a new token where one is asked for.
func wayIn(ctx context.Context, req provider.ConnectRequest) (*provider.Endpoint, error) {
	switch {
	case req.Endpoint != nil && req.RenewToken == 0:
		return req.Endpoint, nil
	case req.Endpoint != nil:
		made, err := connect.Grant(ctx, *req.Endpoint, req)
		return &made, err
	}
	var id string
	if json.Unmarshal(req.Outputs["cluster_id"], &id) != nil || id == "" {
		return nil, provider.Invalidf("outputs", "hold no cluster_id: build the cluster, or register it with a kubeconfig")
	}
	c, err := open(ctx, req.Credentials)
	if err != nil {
		return nil, err
	}
	admin, err := c.client.Credential(ctx, id)
	if err != nil {
		return nil, verdict(ctx, err)
	}
	made, err := connect.Grant(ctx, provider.Endpoint{
		Server: admin.Server, CA: admin.CA, Token: provider.NewSecret(admin.Token), ClientCertificate: admin.ClientCertificate,
		ClientKey: provider.NewSecret(string(admin.ClientKey)), Expiry: admin.Expiry,
	}, req)
	return &made, err
}

// describe adds what only the cloud knows of the cluster.
func (c cloud) describe(ctx context.Context, of provider.Cluster, to *provider.Connection) error {
	things, notLooked, err := c.of(ctx, of)
	if err != nil {
		return err
	}
	to.Identity.Account = c.account
	to.NotLooked = append(to.NotLooked, notLooked...)
	for _, t := range things {
		switch t.Kind {
		case httpcloud.KindSnapshot:
			continue
		case httpcloud.KindCluster:
			to.Identity.CloudID = t.ID
			if to.Region == "" {
				to.Region = t.Region
			}
		case httpcloud.KindNetwork:
			to.Identity.Network = t.ID
		}
		to.Holds = append(to.Holds, c.resource(t, of))
	}
	return nil
}
