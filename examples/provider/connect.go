// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// Connect asks the cluster itself who it is, which the SDK does for every cloud alike, and the folder what it holds of it.
func (folder) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	connection, err := connect.Serve(ctx, req)
	if err != nil {
		return provider.Connection{}, err
	}
	if req.Credentials.IsZero() {
		for _, kind := range facts().Kinds {
			connection.NotLooked = append(connection.NotLooked, provider.NotLooked{
				What: kind.Name, Why: "there are no credentials for the folder: give some to see what the cluster holds",
			})
		}
		return connection, nil
	}
	c, err := open(ctx, req.Credentials, rightLook)
	if err != nil {
		return provider.Connection{}, err
	}
	defer c.close()
	things, notLooked, err := c.of(ctx, req.Cluster)
	if err != nil {
		return provider.Connection{}, err
	}
	connection.Identity.Account = c.path
	connection.NotLooked = append(connection.NotLooked, notLooked...)
	for _, t := range things {
		if t.Role != provider.RoleSafetySnapshot {
			connection.Holds = append(connection.Holds, t.resource(c.path))
		}
	}
	slices.SortFunc(connection.Holds, compareResources)
	return connection, nil
}
