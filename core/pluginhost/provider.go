// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"

	"darkshift.io/infrared/sdk/provider"
)

// supervised is a plugin that is looked for anew at each call.
type supervised struct {
	host *Host
	name string
	// cloud is which provider the plugin must say that it is for; empty: any.
	cloud string
}

var _ provider.Provider = supervised{}

// Connect implements provider.Provider.
func (s supervised) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	return call(ctx, s, verbConnect, func(ctx context.Context, p provider.Provider) (provider.Connection, error) {
		return p.Connect(ctx, req)
	}, func(c provider.Connection) (provider.Connection, error) { return checkConnect(req, c) })
}

// Build implements provider.Provider. Its result counts also where there is an error, so it is held against the contract then too.
func (s supervised) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	return call(ctx, s, verbBuild, func(ctx context.Context, p provider.Provider) (provider.BuildResult, error) {
		result, err := p.Build(ctx, req, fitting{r})
		if err != nil {
			result, _ = checkBuild(result)
		}
		return result, err
	}, checkBuild)
}

// Snapshot implements provider.Provider.
func (s supervised) Snapshot(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	return call(ctx, s, verbSnapshot, func(ctx context.Context, p provider.Provider) ([]provider.Snapshot, error) {
		return p.Snapshot(ctx, req)
	}, func(answers []provider.Snapshot) ([]provider.Snapshot, error) { return checkSnapshot(req, answers) })
}

// Confirm implements provider.Provider.
func (s supervised) Confirm(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	return call(ctx, s, verbConfirm, func(ctx context.Context, p provider.Provider) (provider.Findings, error) {
		return p.Confirm(ctx, req)
	}, func(f provider.Findings) (provider.Findings, error) { return checkConfirm(req, f) })
}

// Sweep implements provider.Provider.
func (s supervised) Sweep(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
	return call(ctx, s, verbSweep, func(ctx context.Context, p provider.Provider) (provider.Findings, error) {
		return p.Sweep(ctx, req)
	}, checkSweep)
}

// withAccounts is a plugin that has Verify and Mint, or that nothing is known of yet.
type withAccounts struct{ supervised }

var _ provider.Accounts = withAccounts{}

// Verify implements provider.Accounts.
func (s withAccounts) Verify(ctx context.Context, account provider.Account) (provider.Identity, error) {
	return call(ctx, s.supervised, verbVerify, func(ctx context.Context, p provider.Provider) (provider.Identity, error) {
		accounts, ok := p.(provider.Accounts)
		if !ok {
			return provider.Identity{}, unsupported(s.name, verbVerify)
		}
		return accounts.Verify(ctx, account)
	}, checkVerify)
}

// Mint implements provider.Accounts.
func (s withAccounts) Mint(ctx context.Context, account provider.Account, req provider.MintRequest) (provider.Credentials, error) {
	return call(ctx, s.supervised, verbMint, func(ctx context.Context, p provider.Provider) (provider.Credentials, error) {
		accounts, ok := p.(provider.Accounts)
		if !ok {
			return provider.Credentials{}, unsupported(s.name, verbMint)
		}
		return accounts.Mint(ctx, account, req)
	}, checkMint)
}

// unsupported answers for a plugin that did not declare the verb: it is never tried.
func unsupported(name string, v verb) error {
	return provider.Errorf(provider.Unsupported, "plugin %q does not have %s", name, v)
}
