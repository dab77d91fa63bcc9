// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// NewClient returns the provider at the other end of conn. It is a [provider.Accounts] exactly if caps, the capabilities
// that the plugin declared, say so. Every error is a [*provider.Error].
func NewClient(conn grpc.ClientConnInterface, caps []provider.Capability) provider.Provider {
	c := client{wire: pb.NewProviderServiceClient(conn)}
	if slices.Contains(caps, provider.CapabilityAccounts) {
		return accountsClient{c}
	}
	return c
}

// Describe asks a plugin who it is. Facts that are wrong are an error of kind Invalid, with the field.
func Describe(ctx context.Context, conn grpc.ClientConnInterface) (provider.Description, error) {
	m, err := pb.NewProviderServiceClient(conn).Describe(ctx, &pb.DescribeRequest{}, limits()...)
	if err != nil {
		return provider.Description{}, convert.ErrorFromStatus(err)
	}
	d := convert.DescriptionFromWire(m)
	if err := d.Facts.Check(); err != nil {
		return provider.Description{}, err
	}
	return d, nil
}

// Stop asks a plugin to wind down what runs and to take no new calls. It returns when nothing runs any more, or when ctx
// ends. The answers of calls that were running may still be on their way then: wait for those calls before you end the
// plugin.
func Stop(ctx context.Context, conn grpc.ClientConnInterface) error {
	_, err := pb.NewProviderServiceClient(conn).Stop(ctx, &pb.StopRequest{}, limits()...)
	return convert.ErrorFromStatus(err)
}

// limits lets messages be as large as the contract says; gRPC's own limit for answers is 4 MiB.
func limits() []grpc.CallOption {
	return []grpc.CallOption{grpc.MaxCallRecvMsgSize(MaxMessageBytes), grpc.MaxCallSendMsgSize(MaxMessageBytes)}
}

// client calls the verbs over the wire.
type client struct{ wire pb.ProviderServiceClient }

// accountsClient is a client of a plugin with accounts.
type accountsClient struct{ client }

var (
	_ provider.Provider = client{}
	_ provider.Accounts = accountsClient{}
)

// Connect implements [provider.Provider].
func (c client) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	m, err := c.wire.Connect(ctx, convert.ConnectRequestToWire(req), limits()...)
	if err := answered("Connect", err, m.GetConnection() != nil); err != nil {
		return provider.Connection{}, err
	}
	return convert.ConnectionFromWire(m.GetConnection()), nil
}

// Snapshot implements [provider.Provider].
func (c client) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	m, err := c.wire.Snapshot(ctx, convert.SnapshotRequestToWire(req), limits()...)
	if err := answered("Snapshot", err, true); err != nil {
		return nil, err
	}
	return convert.SnapshotsFromWire(m), nil
}

// Confirm implements [provider.Provider].
func (c client) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	m, err := c.wire.Confirm(ctx, convert.ConfirmRequestToWire(req), limits()...)
	if err := answered("Confirm", err, m.GetFindings() != nil); err != nil {
		return provider.Findings{}, err
	}
	return convert.FindingsFromWire(m.GetFindings()), nil
}

// Sweep implements [provider.Provider].
func (c client) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	m, err := c.wire.Sweep(ctx, convert.SweepRequestToWire(req), limits()...)
	if err := answered("Sweep", err, m.GetFindings() != nil); err != nil {
		return provider.Findings{}, err
	}
	return convert.FindingsFromWire(m.GetFindings()), nil
}

// Verify implements [provider.Accounts].
func (c accountsClient) Verify(ctx context.Context, account provider.Account) (provider.Identity, error) {
	m, err := c.wire.Verify(ctx, &pb.VerifyRequest{Account: convert.AccountToWire(account)}, limits()...)
	if err := answered("Verify", err, m.GetIdentity() != nil); err != nil {
		return provider.Identity{}, err
	}
	return convert.IdentityFromWire(m.GetIdentity()), nil
}

// Mint implements [provider.Accounts].
func (c accountsClient) Mint(ctx context.Context, account provider.Account, req provider.MintRequest) (provider.Credentials, error) {
	m, err := c.wire.Mint(ctx, convert.MintRequestToWire(account, req), limits()...)
	if err := answered("Mint", err, m.GetCredentials() != nil); err != nil {
		return provider.Credentials{}, err
	}
	return convert.CredentialsFromWire(m.GetCredentials()), nil
}

// answered is the error of a call: the one it ended with, or that its answer was empty. An empty answer must not be taken
// for zero values: findings without anything in them would mean that everything is gone.
func answered(verb string, err error, there bool) error {
	if err != nil {
		return convert.ErrorFromStatus(err)
	}
	if !there {
		return provider.Errorf(provider.Other, "the plugin broke the contract: it answered %s with nothing", verb)
	}
	return nil
}
