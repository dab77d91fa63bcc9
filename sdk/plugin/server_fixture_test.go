// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"darkshift.io/infrared/sdk/plugin"
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// patience is how long a test waits for what must happen at once.
const patience = 20 * time.Second

// scripted is a provider whose verbs do what a test says; those that it does not name answer zero values.
type scripted struct {
	connect  func(context.Context, provider.ConnectRequest) (provider.Connection, error)
	build    func(context.Context, provider.BuildRequest, provider.Reporter) (provider.BuildResult, error)
	snapshot func(context.Context, provider.SnapshotRequest) ([]provider.Snapshot, error)
	confirm  func(context.Context, provider.ConfirmRequest) (provider.Findings, error)
	sweep    func(context.Context, provider.SweepRequest) (provider.Findings, error)
}

func (s *scripted) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	if s.connect == nil {
		return provider.Connection{}, nil
	}
	return s.connect(ctx, req)
}

func (s *scripted) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	if s.build == nil {
		return provider.BuildResult{}, nil
	}
	return s.build(ctx, req, r)
}

func (s *scripted) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	if s.snapshot == nil {
		return nil, nil
	}
	return s.snapshot(ctx, req)
}

func (s *scripted) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	if s.confirm == nil {
		return provider.Findings{}, nil
	}
	return s.confirm(ctx, req)
}

func (s *scripted) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	if s.sweep == nil {
		return provider.Findings{}, nil
	}
	return s.sweep(ctx, req)
}

// scriptedAccounts has accounts as well.
type scriptedAccounts struct {
	scripted
	verify func(context.Context, provider.Account) (provider.Identity, error)
	mint   func(context.Context, provider.Account, provider.MintRequest) (provider.Credentials, error)
}

func (s *scriptedAccounts) Verify(ctx context.Context, a provider.Account) (provider.Identity, error) {
	if s.verify == nil {
		return provider.Identity{}, nil
	}
	return s.verify(ctx, a)
}

func (s *scriptedAccounts) Mint(ctx context.Context, a provider.Account, req provider.MintRequest) (provider.Credentials, error) {
	if s.mint == nil {
		return provider.Credentials{}, nil
	}
	return s.mint(ctx, a, req)
}

func goodFacts() provider.Facts { return provider.Facts{Name: "scripted", Version: "v0.1.0"} }

// wire is a provider behind real gRPC on a unix socket.
type wire struct {
	conn *grpc.ClientConn
	grpc *grpc.Server
	log  *logged
}

// overWire serves p, and connects to it.
func overWire(t *testing.T, p provider.Provider, opts ...plugin.Option) wire {
	t.Helper()
	log := &logged{}
	return overWireRaw(t, plugin.NewServer(p, goodFacts(), append([]plugin.Option{plugin.LogTo(log)}, opts...)...), log)
}

// overWireRaw serves whatever answers the wire, such as a plugin that breaks the contract.
func overWireRaw(t *testing.T, s pb.ProviderServiceServer, log *logged) wire {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(plugin.ServerOptions()...)
	pb.RegisterProviderServiceServer(g, s)
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(listener) }()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		g.Stop()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return wire{conn: conn, grpc: g, log: log}
}

func (w wire) provider() provider.Provider { return plugin.NewClient(w.conn, nil) }

func (w wire) accounts(t *testing.T) provider.Accounts {
	t.Helper()
	accounts, ok := plugin.NewClient(w.conn, []provider.Capability{provider.CapabilityAccounts}).(provider.Accounts)
	if !ok {
		t.Fatal("a client of a plugin that declared accounts has none")
	}
	return accounts
}

// typed is err as a provider's error, which it must be.
func typed(t *testing.T, err error) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *provider.Error", err, err)
	}
	return e
}

// eventually waits for a channel.
func eventually[A any](t *testing.T, what string, c <-chan A) A {
	t.Helper()
	select {
	case a := <-c:
		return a
	case <-time.After(patience):
		t.Fatalf("%s did not happen within %s", what, patience)
		panic("not reached")
	}
}

// logged keeps what is written to it.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// events keeps what a build reports.
type events struct {
	mu  sync.Mutex
	all []provider.Event
}

func (e *events) Report(one provider.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, one)
}

func (e *events) messages() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var texts []string
	for _, one := range e.all {
		texts = append(texts, one.Message)
	}
	return texts
}
