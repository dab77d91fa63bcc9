// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"context"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// connecting are the promises of Connect.
func connecting() []Check {
	return []Check{
		{
			Name: "connect-writes-nothing", Sentence: "Connect writes nothing to a cluster that is only registered, and nothing to its cloud.",
			needs: []need{needConnect(), needThings()},
			run: func(ctx context.Context, b *bench) {
				b.unchanged(ctx, "Connect", func() error {
					_, err := b.Provider.Connect(ctx, b.connectRequest())
					return err
				})
			},
		},
		{
			Name: "connect-says-which", Sentence: "Connect says the UID of the namespace kube-system, or that it could not look at it.",
			needs: []need{needConnect()}, run: connectSaysWhich,
		},
		{
			Name: "connect-keeps-endpoint", Sentence: "The endpoint that Connect answers equals the request's unless a new token was asked for.",
			needs: []need{needConnect()}, run: connectKeepsEndpoint,
		},
		{
			Name: "connect-counts-nodes", Sentence: "Connect counts the nodes, of which no more are ready than there are, or says why it can't.",
			needs: []need{needConnect()}, run: connectCountsNodes,
		},
		{
			Name: "connect-records", Sentence: "Connect writes down all that the cluster holds in the cloud, or what it could not look at.",
			needs: []need{needConnect(), needRecorded()}, run: connectRecords,
		},
		{
			Name: "connect-without-credentials", Sentence: "Without credentials for the cloud, Connect says what the cluster itself tells, and what it did not look at.",
			needs: []need{needConnect(), needCredentials()}, run: connectWithoutCredentials,
		},
		{
			Name: "unreachable-is-not-gone", Sentence: "A cluster that does not answer is Unavailable, which is not to say that it is gone.",
			needs: []need{needConnect(), needTrouble(ClusterDown)}, run: unreachableIsNotGone,
		},
		{
			Name: "built-is-connected", Sentence: "A cluster that was built is connected by its outputs alone, with a token of its own.",
			needs: []need{needBuild(), needReachable()}, run: builtIsConnected,
		},
	}
}

func (b *bench) connect(ctx context.Context) (provider.Connection, bool) {
	connection, err := b.Provider.Connect(ctx, b.connectRequest())
	return connection, b.fine("Connect", err)
}

func connectSaysWhich(ctx context.Context, b *bench) {
	connection, ok := b.connect(ctx)
	if ok && connection.Identity.KubeSystemUID == "" && len(connection.NotLooked) == 0 {
		b.breach("Connect says no UID of kube-system, and not why")
	}
}

func connectKeepsEndpoint(ctx context.Context, b *bench) {
	connection, ok := b.connect(ctx)
	if !ok || b.Connect.Endpoint == nil || b.Connect.RenewToken != 0 {
		return
	}
	got, want := connection.Endpoint, *b.Connect.Endpoint
	for what, same := range map[string]bool{
		"Server": got.Server == want.Server, "TLSServerName": got.TLSServerName == want.TLSServerName, "CA": bytes.Equal(got.CA, want.CA),
		"Token": got.Token.Equal(want.Token), "ClientCertificate": bytes.Equal(got.ClientCertificate, want.ClientCertificate),
		"ClientKey": got.ClientKey.Equal(want.ClientKey),
	} {
		if !same {
			b.breach("Connect answers another %s than the request's", what)
		}
	}
}

func connectCountsNodes(ctx context.Context, b *bench) {
	connection, ok := b.connect(ctx)
	switch nodes := connection.Nodes; {
	case !ok:
	case nodes == nil && len(connection.NotLooked) == 0:
		b.breach("Connect counts no nodes, and does not say why")
	case nodes != nil && (nodes.Ready < 0 || nodes.Ready > nodes.Total):
		b.breach("Connect counts %d ready nodes of %d", nodes.Ready, nodes.Total)
	}
}

func connectRecords(ctx context.Context, b *bench) {
	connection, ok := b.connect(ctx)
	lost := missing(ids(b.Recorded), ids(connection.Holds))
	if ok && len(lost) > 0 && len(connection.NotLooked) == 0 {
		b.breach("Connect does not write down %v, and names nothing that it did not look at", lost)
	}
}

func connectWithoutCredentials(ctx context.Context, b *bench) {
	req := b.connectRequest()
	req.Credentials = provider.Credentials{}
	connection, err := b.Provider.Connect(ctx, req)
	if b.fine("Connect without credentials for the cloud", err) && len(connection.NotLooked) == 0 {
		b.breach("Connect does not say that it could not look at the cloud")
	}
}

func unreachableIsNotGone(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, ClusterDown)
	if !ok {
		return
	}
	defer mend()
	if _, err := b.Provider.Connect(ctx, b.connectRequest()); !is(err, provider.Unavailable) {
		b.breach("Connect to a cluster that does not answer gave %q, of the kind %q", err, provider.KindOf(err))
	}
}

func builtIsConnected(ctx context.Context, b *bench) {
	result, _, ok := b.apply(ctx)
	if !ok {
		return
	}
	connection, err := b.Provider.Connect(ctx, provider.ConnectRequest{
		Cluster: b.Build.Cluster, Outputs: result.Outputs, Credentials: b.Build.Credentials, RenewToken: time.Hour, PrivateAddresses: true,
	})
	if !b.fine("Connect", err) {
		return
	}
	if e := connection.Endpoint; e.Server == "" || e.Token.IsZero() {
		b.breach("Connect answers an endpoint with no server or no token")
	}
}
