// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"context"
	"slices"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// longest is how long the cloud's credentials live at most.
const longest = 12 * time.Hour

// Verify says whose a role is, and which rights it lacks.
func (p *Provider) Verify(ctx context.Context, account provider.Account) (provider.Identity, error) {
	return pass(ctx, p.gate, VerbVerify, func(i *provider.Identity, pad string) { i.Missing = append(i.Missing, pad) },
		func() (provider.Identity, error) {
			rights, err := p.cloud.assume(ctx, account)
			if err != nil {
				return provider.Identity{}, err
			}
			identity := provider.Identity{Account: account.ID, Principal: account.Role}
			for _, right := range rightsFor(provider.PurposeBuild) {
				if !slices.Contains(rights, right) {
					identity.Missing = append(identity.Missing, right)
				}
			}
			slices.Sort(identity.Missing)
			return identity, nil
		})
}

// Mint makes credentials with the rights of one purpose, that write for one cluster only.
func (p *Provider) Mint(ctx context.Context, account provider.Account, req provider.MintRequest) (provider.Credentials, error) {
	return pass(ctx, p.gate, VerbMint, func(c *provider.Credentials, pad string) { c.Values["PADDING"] = provider.NewSecret(pad) },
		func() (provider.Credentials, error) {
			rights, err := p.cloud.assume(ctx, account)
			if err != nil {
				return provider.Credentials{}, err
			}
			wanted := rightsFor(req.Purpose)
			if wanted == nil {
				return provider.Credentials{}, provider.Invalidf("purpose", "%q is none that credentials can be made for", req.Purpose)
			}
			for _, right := range wanted {
				if !slices.Contains(rights, right) {
					return provider.Credentials{}, provider.Errorf(provider.Denied, "the role lacks the right %s: add it", right)
				}
			}
			return p.cloud.mint(account.ID, req, wanted), nil
		})
}

// assume takes on an account's role, and returns its rights.
func (c *Cloud) assume(ctx context.Context, of provider.Account) ([]string, error) {
	c.mu.Lock()
	silent := c.trouble.Silent
	c.mu.Unlock()
	if silent {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return nil, stopped()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.accounts[of.ID]
	switch {
	case c.trouble.Throttled:
		return nil, c.throttle()
	case a == nil || a.role != of.Role || a.externalID != of.ExternalID.Reveal():
		return nil, provider.Errorf(provider.Denied, "the account %s does not let us use the role %s: check its trust policy and the external ID", of.ID, of.Role)
	}
	return slices.Clone(a.rights), nil
}

func (c *Cloud) mint(account string, req provider.MintRequest, rights []string) provider.Credentials {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	expiry := c.options.Now().Add(min(cmp.Or(req.Lifetime, time.Hour), longest))
	text := c.issue(token{account: account, cluster: req.Cluster.Incarnation, rights: rights, expiry: expiry})
	return provider.Credentials{Values: map[string]provider.Secret{TokenName: provider.NewSecret(text)}, Expiry: expiry}
}
