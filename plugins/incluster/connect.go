// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// Connect reaches the cluster by the request's way in, and says what the cluster itself tells: there is no cloud beside it that
// could be asked.
func (inCluster) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	return connect.Serve(ctx, req)
}
