// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"context"
	"sync"

	"darkshift.io/infrared/sdk/fake"
	"darkshift.io/infrared/sdk/provider"
)

// twisted is the good provider with some verbs replaced.
type twisted struct {
	*fake.Provider

	connect  func(context.Context, provider.ConnectRequest) (provider.Connection, error)
	build    func(context.Context, provider.BuildRequest, provider.Reporter) (provider.BuildResult, error)
	snapshot func(context.Context, provider.SnapshotRequest) ([]provider.Snapshot, error)
	confirm  func(context.Context, provider.ConfirmRequest) (provider.Findings, error)
	sweep    func(context.Context, provider.SweepRequest) (provider.Findings, error)
	verify   func(context.Context, provider.Account) (provider.Identity, error)
	mint     func(context.Context, provider.Account, provider.MintRequest) (provider.Credentials, error)
}

func (t *twisted) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	if t.connect != nil {
		return t.connect(ctx, req)
	}
	return t.Provider.Connect(ctx, req)
}

func (t *twisted) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	if t.build != nil {
		return t.build(ctx, req, r)
	}
	return t.Provider.Build(ctx, req, r)
}

func (t *twisted) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	if t.snapshot != nil {
		return t.snapshot(ctx, req)
	}
	return t.Provider.Snapshot(ctx, req)
}

func (t *twisted) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	if t.confirm != nil {
		return t.confirm(ctx, req)
	}
	return t.Provider.Confirm(ctx, req)
}

func (t *twisted) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	if t.sweep != nil {
		return t.sweep(ctx, req)
	}
	return t.Provider.Sweep(ctx, req)
}

func (t *twisted) Verify(ctx context.Context, account provider.Account) (provider.Identity, error) {
	if t.verify != nil {
		return t.verify(ctx, account)
	}
	return t.Provider.Verify(ctx, account)
}

func (t *twisted) Mint(ctx context.Context, account provider.Account, req provider.MintRequest) (provider.Credentials, error) {
	if t.mint != nil {
		return t.mint(ctx, account, req)
	}
	return t.Provider.Mint(ctx, account, req)
}

// The functions that follow replace one verb by the good one and something that is done to its answer.

func connectThen(twist func(s *stage, req provider.ConnectRequest, c *provider.Connection, err *error)) func(*stage) {
	return func(s *stage) {
		s.bad.connect = func(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
			c, err := s.good.Connect(ctx, req)
			twist(s, req, &c, &err)
			return c, err
		}
	}
}

func buildThen(twist func(s *stage, req provider.BuildRequest, b *provider.BuildResult, err *error)) func(*stage) {
	return func(s *stage) {
		s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
			b, err := s.good.Build(ctx, req, r)
			twist(s, req, &b, &err)
			return b, err
		}
	}
}

func snapshotThen(twist func(s *stage, req provider.SnapshotRequest, all []provider.Snapshot, err *error)) func(*stage) {
	return func(s *stage) {
		s.bad.snapshot = func(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
			all, err := s.good.Snapshot(ctx, req)
			twist(s, req, all, &err)
			if err != nil {
				return nil, err
			}
			return all, err
		}
	}
}

func confirmThen(twist func(s *stage, f *provider.Findings, err *error)) func(*stage) {
	return func(s *stage) {
		s.bad.confirm = func(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
			f, err := s.good.Confirm(ctx, req)
			twist(s, &f, &err)
			return f, err
		}
	}
}

func sweepThen(twist func(s *stage, req provider.SweepRequest, f *provider.Findings, err *error)) func(*stage) {
	return func(s *stage) {
		s.bad.sweep = func(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
			f, err := s.good.Sweep(ctx, req)
			twist(s, req, &f, &err)
			return f, err
		}
	}
}

// found is the sweep's twist for the things that are called present.
func found(twist func(s *stage, f *provider.Finding)) func(*stage) {
	return sweepThen(func(s *stage, _ provider.SweepRequest, f *provider.Findings, _ *error) {
		for i := range f.Present {
			twist(s, &f.Present[i])
		}
	})
}

// counter counts calls.
type counter struct {
	mu sync.Mutex
	n  int
}

// next is how many calls there were before this one.
func (c *counter) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n - 1
}

// reporter is a provider.Reporter made of a function.
type reporter func(provider.Event)

func (r reporter) Report(e provider.Event) { r(e) }
