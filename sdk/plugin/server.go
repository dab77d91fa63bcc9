// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"io"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// Server answers the wire with a provider's verbs. Register it with [pb.RegisterProviderServiceServer] on a gRPC server
// made with [ServerOptions].
type Server struct {
	pb.UnimplementedProviderServiceServer

	provider    provider.Provider
	description provider.Description
	calls       *calls
	log         io.Writer
}

// Option changes how a [Server] works.
type Option func(*serverOptions)

type serverOptions struct {
	resume bool
	log    io.Writer
}

// Resume makes the server take calls again once a Stop is through, for a plugin that outlives its hosts.
func Resume() Option { return func(o *serverOptions) { o.resume = true } }

// LogTo says where the stacks of panics go; without it to standard error.
func LogTo(w io.Writer) Option { return func(o *serverOptions) { o.log = w } }

// NewServer makes the server of p. It takes the facts as they are: [Serve] checks them.
func NewServer(p provider.Provider, facts provider.Facts, opts ...Option) *Server {
	o := serverOptions{log: os.Stderr}
	for _, opt := range opts {
		opt(&o)
	}
	return &Server{
		provider:    p,
		description: provider.Description{Facts: facts, Capabilities: provider.Capabilities(p)},
		calls:       newCalls(o.resume),
		log:         o.log,
	}
}

// ServerOptions let messages be as large as the contract says.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.MaxSendMsgSize(MaxMessageBytes)}
}

// Describe implements the wire.
func (s *Server) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return answer(ctx, s, "Describe", func(context.Context) (*pb.DescribeResponse, error) {
		return convert.DescriptionToWire(s.description), nil
	})
}

// Stop implements the wire: it asks everything that runs to wind down, and waits for that.
func (s *Server) Stop(ctx context.Context, _ *pb.StopRequest) (*pb.StopResponse, error) {
	if err := s.calls.stop(ctx); err != nil {
		// Mostly the host has given up by itself by now. Where this comes sooner it says the same.
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &pb.StopResponse{}, nil
}

// Connect implements the wire.
func (s *Server) Connect(ctx context.Context, req *pb.ConnectRequest) (*pb.ConnectResponse, error) {
	return answer(ctx, s, "Connect", func(ctx context.Context) (*pb.ConnectResponse, error) {
		v, err := s.provider.Connect(ctx, convert.ConnectRequestFromWire(req))
		return &pb.ConnectResponse{Connection: convert.ConnectionToWire(v)}, err
	})
}

// Snapshot implements the wire.
func (s *Server) Snapshot(ctx context.Context, req *pb.SnapshotRequest) (*pb.SnapshotResponse, error) {
	return answer(ctx, s, "Snapshot", func(ctx context.Context) (*pb.SnapshotResponse, error) {
		v, err := s.provider.Snapshot(ctx, convert.SnapshotRequestFromWire(req))
		return convert.SnapshotsToWire(v), err
	})
}

// Confirm implements the wire.
func (s *Server) Confirm(ctx context.Context, req *pb.ConfirmRequest) (*pb.ConfirmResponse, error) {
	return answer(ctx, s, "Confirm", func(ctx context.Context) (*pb.ConfirmResponse, error) {
		v, err := s.provider.Confirm(ctx, convert.ConfirmRequestFromWire(req))
		return &pb.ConfirmResponse{Findings: convert.FindingsToWire(v)}, err
	})
}

// Sweep implements the wire.
func (s *Server) Sweep(ctx context.Context, req *pb.SweepRequest) (*pb.SweepResponse, error) {
	return answer(ctx, s, "Sweep", func(ctx context.Context) (*pb.SweepResponse, error) {
		v, err := s.provider.Sweep(ctx, convert.SweepRequestFromWire(req))
		return &pb.SweepResponse{Findings: convert.FindingsToWire(v)}, err
	})
}

// Verify implements the wire.
func (s *Server) Verify(ctx context.Context, req *pb.VerifyRequest) (*pb.VerifyResponse, error) {
	return answer(ctx, s, "Verify", func(ctx context.Context) (*pb.VerifyResponse, error) {
		accounts, err := s.accounts("Verify")
		if err != nil {
			return nil, err
		}
		v, err := accounts.Verify(ctx, convert.AccountFromWire(req.GetAccount()))
		return &pb.VerifyResponse{Identity: convert.IdentityToWire(v)}, err
	})
}

// Mint implements the wire.
func (s *Server) Mint(ctx context.Context, req *pb.MintRequest) (*pb.MintResponse, error) {
	return answer(ctx, s, "Mint", func(ctx context.Context) (*pb.MintResponse, error) {
		accounts, err := s.accounts("Mint")
		if err != nil {
			return nil, err
		}
		account, mint := convert.MintRequestFromWire(req)
		v, err := accounts.Mint(ctx, account, mint)
		return &pb.MintResponse{Credentials: convert.CredentialsToWire(v)}, err
	})
}

func (s *Server) accounts(verb string) (provider.Accounts, error) {
	accounts, ok := s.provider.(provider.Accounts)
	if !ok {
		return nil, provider.Errorf(provider.Unsupported, "the provider %s has no accounts, so it can't %s", s.description.Facts.Name, verb)
	}
	return accounts, nil
}

// answer runs one verb: counted, with a context that a stop ends, and with whatever goes wrong as a typed error.
func answer[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Server, verb string, run func(context.Context) (P, error)) (P, error) {
	ctx, end, err := s.calls.begin(ctx, verb)
	if err != nil {
		return nil, convert.ErrorToStatus(err)
	}
	defer end()
	m, err := guard(s.log, verb, func() (P, error) { return run(ctx) })
	if err != nil {
		return nil, toStatus(ctx, err)
	}
	if proto.Size(m) > MaxMessageBytes {
		return nil, convert.ErrorToStatus(tooLarge(verb))
	}
	return m, nil
}

// toStatus is what a verb's error travels as.
func toStatus(ctx context.Context, err error) error {
	if gaveUp(ctx, err) && !errors.Is(context.Cause(ctx), errStopping) {
		// The host ended the call, and mostly has its own error by now. Where this comes sooner it says the same.
		return status.FromContextError(ctx.Err()).Err()
	}
	return convert.ErrorToStatus(inWords(ctx, err))
}

// inWords is the error of a verb that gave up because of a stop.
func inWords(ctx context.Context, err error) error {
	if gaveUp(ctx, err) && errors.Is(context.Cause(ctx), errStopping) {
		return stopping()
	}
	return err
}

// gaveUp says whether a verb's author just returned the error of its context, which has ended.
func gaveUp(ctx context.Context, err error) bool {
	var typed *provider.Error
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && !errors.As(err, &typed)
}

func tooLarge(verb string) error {
	return provider.Errorf(provider.Other, "the answer of %s is larger than the 16 MiB that fit into a message", verb)
}
