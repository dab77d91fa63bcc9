// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"darkshift.io/infrared/sdk/fake"
	"darkshift.io/infrared/sdk/provider"
)

func brokenErrors() map[string]brokenRow {
	return map[string]brokenRow{
		"bad-credentials-told": {reason: "wrong credentials lack a right", spoil: confirmThen(func(_ *stage, _ *provider.Findings, err *error) {
			if errors.Is(*err, provider.Unauthenticated) {
				*err = provider.Errorf(provider.Denied, "you may not")
			}
		})},
		"throttle-says-when": {reason: "the time to wait is lost", spoil: buildThen(func(_ *stage, _ provider.BuildRequest, _ *provider.BuildResult, err *error) {
			if errors.Is(*err, provider.Unavailable) {
				*err = provider.Unavailablef(0, "the cloud is busy")
			}
		})},
		"quota-told": {reason: "a quota is some failure", spoil: buildThen(func(_ *stage, _ provider.BuildRequest, _ *provider.BuildResult, err *error) {
			if errors.Is(*err, provider.Quota) {
				*err = provider.Errorf(provider.Other, "it did not work")
			}
		})},
		"no-templates-unsupported": {reason: "a build that can't be is said to be done", facts: func(f *provider.Facts) { f.Templates = nil }, spoil: func(s *stage) {
			s.world.Build, s.world.Rebuild, s.world.BadBuild = nil, nil, nil
			s.bad.build = func(context.Context, provider.BuildRequest, provider.Reporter) (provider.BuildResult, error) {
				return provider.BuildResult{}, nil
			}
		}},
	}
}

func brokenAccounts() map[string]brokenRow {
	verify := func(twist func(s *stage, i *provider.Identity, err *error)) func(*stage) {
		return func(s *stage) {
			s.bad.verify = func(ctx context.Context, account provider.Account) (provider.Identity, error) {
				identity, err := s.good.Verify(ctx, account)
				twist(s, &identity, &err)
				return identity, err
			}
		}
	}
	mint := func(twist func(c *provider.Credentials)) func(*stage) {
		return func(s *stage) {
			s.bad.mint = func(ctx context.Context, account provider.Account, req provider.MintRequest) (provider.Credentials, error) {
				credentials, err := s.good.Mint(ctx, account, req)
				twist(&credentials)
				return credentials, err
			}
		}
	}
	return map[string]brokenRow{
		"declared-works": {reason: "the verb is there for show", spoil: verify(func(_ *stage, _ *provider.Identity, err *error) {
			*err = provider.Errorf(provider.Unsupported, "not yet")
		})},
		"verify-writes-nothing": {reason: "a mark is left in the cloud", spoil: verify(func(s *stage, _ *provider.Identity, _ *error) { s.leaveMark() })},
		"verify-says-whose":     {reason: "the account is left out", spoil: verify(func(_ *stage, i *provider.Identity, _ *error) { i.Account = "" })},
		"small-role-is-an-answer": {reason: "a role that is too small is an error", spoil: verify(func(_ *stage, i *provider.Identity, err *error) {
			if len(i.Missing) > 0 {
				*err = provider.Errorf(provider.Denied, "the role is too small")
			}
		})},
		"mint-works": {reason: "the credentials are not the cloud's", spoil: mint(func(c *provider.Credentials) {
			c.Values = map[string]provider.Secret{fake.TokenName: provider.NewSecret("made-up")}
		})},
		"mint-fits-purpose": {reason: "all credentials can do everything", spoil: func(s *stage) {
			s.bad.mint = func(ctx context.Context, account provider.Account, req provider.MintRequest) (provider.Credentials, error) {
				req.Purpose = provider.PurposeBuild
				return s.good.Mint(ctx, account, req)
			}
		}},
		"mint-ends": {reason: "nobody knows when they end", spoil: mint(func(c *provider.Credentials) { c.Expiry = time.Time{} })},
	}
}

func brokenFacts() map[string]brokenRow {
	return map[string]brokenRow{
		"facts-valid":  {reason: "the name is none", facts: func(f *provider.Facts) { f.Version = "" }},
		"facts-sorted": {reason: "kinds come backwards", facts: func(f *provider.Facts) { slices.Reverse(f.Kinds) }},
	}
}
