// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// role is what a role lets who knows its external ID do.
type role struct {
	ExternalID string   `json:"externalID"`
	Rights     []string `json:"rights"`
}

// longest is how long a key may be valid.
const longest = 12 * time.Hour

// Verify says what the account's role may do. The account's ID is the folder's path.
func (folder) Verify(ctx context.Context, account provider.Account) (provider.Identity, error) {
	c, of, err := assume(ctx, account)
	if err != nil {
		return provider.Identity{}, err
	}
	defer c.close()
	identity := provider.Identity{Account: c.path, Principal: account.Role}
	for _, right := range []string{rightBuild, rightLook, rightSnapshot} {
		if !slices.Contains(of.Rights, right) {
			identity.Missing = append(identity.Missing, right)
		}
	}
	return identity, nil
}

// Mint makes a key with the rights of one purpose, that writes for one cluster only and soon ends.
func (folder) Mint(ctx context.Context, account provider.Account, req provider.MintRequest) (provider.Credentials, error) {
	c, of, err := assume(ctx, account)
	if err != nil {
		return provider.Credentials{}, err
	}
	defer c.close()
	rights := map[provider.Purpose][]string{
		provider.PurposeLook:     {rightLook},
		provider.PurposeSnapshot: {rightLook, rightSnapshot},
		provider.PurposeBuild:    {rightLook, rightSnapshot, rightBuild},
	}[req.Purpose]
	if rights == nil {
		return provider.Credentials{}, provider.Invalidf("purpose", "%q is none that keys can be made for", req.Purpose)
	}
	for _, right := range rights {
		if !slices.Contains(of.Rights, right) {
			return provider.Credentials{}, provider.Errorf(provider.Denied, "the role lacks the right %q: add it", right)
		}
	}
	secret := "key-" + rand.Text()
	made := key{
		Rights: rights, Cluster: req.Cluster.Incarnation,
		Expiry: time.Now().Add(min(cmp.Or(req.Lifetime, time.Hour), longest)),
	}
	if err := c.write(keyFile(secret), made); err != nil {
		return provider.Credentials{}, provider.Unavailablef(0, "the key can't be written: %w", reason(err))
	}
	return provider.Credentials{Expiry: made.Expiry, Values: map[string]provider.Secret{
		keyName: provider.NewSecret(secret), pathName: provider.NewSecret(c.path),
	}}, nil
}

// assume takes on an account's role.
func assume(ctx context.Context, account provider.Account) (*cloud, role, error) {
	refused := provider.Errorf(provider.Denied, "the folder does not let us use the role %q: check its name and the external ID", account.Role)
	if account.Role == "" || strings.ContainsAny(account.Role, "/\\") {
		return nil, role{}, refused
	}
	c, err := enter(ctx, account.ID)
	if err != nil {
		return nil, role{}, err
	}
	var of role
	err = c.read("roles/"+account.Role+".json", &of)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && of.ExternalID != account.ExternalID.Reveal():
		err = refused
	case err != nil:
		err = provider.Unavailablef(0, "the folder's roles can't be read: %w", reason(err))
	default:
		return c, of, nil
	}
	c.close()
	return nil, role{}, err
}
