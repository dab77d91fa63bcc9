// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"slices"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// TokenName is the name of the one value that the cloud's credentials have.
const TokenName = "FAKE_TOKEN"

// The rights that a role may have.
const (
	rightGet      = "things.get"
	rightList     = "things.list"
	rightCreate   = "things.create"
	rightDelete   = "things.delete"
	rightSnapshot = "snapshots.create"
)

// rightsFor are the rights that a purpose needs, sorted.
func rightsFor(p provider.Purpose) []string {
	switch p {
	case provider.PurposeLook:
		return []string{rightGet, rightList}
	case provider.PurposeSnapshot:
		return []string{rightSnapshot, rightGet, rightList}
	case provider.PurposeBuild:
		return []string{rightSnapshot, rightCreate, rightDelete, rightGet, rightList}
	default:
		return nil
	}
}

type account struct {
	role, externalID string
	rights           []string
}

// token is one set of credentials; cluster is the only incarnation that they may write for, empty: any.
type token struct {
	account, cluster string
	rights           []string
	expiry           time.Time
	withdrawn        bool
}

// Access is an account and a way in.
type Access struct {
	// Account reaches it through its role.
	Account provider.Account
	// Credentials have all rights, and do not expire.
	Credentials provider.Credentials
}

// AddAccount adds an account with a role that has every right.
func (c *Cloud) AddAccount(id string) Access {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	a := &account{role: "role/" + id, externalID: fmt.Sprintf("external-%s-%04d", id, c.made), rights: rightsFor(provider.PurposeBuild)}
	c.accounts[id] = a
	text := c.issue(token{account: id, rights: a.rights})
	return Access{
		Account:     provider.Account{Name: id, ID: id, Role: a.role, ExternalID: provider.NewSecret(a.externalID)},
		Credentials: provider.Credentials{Values: map[string]provider.Secret{TokenName: provider.NewSecret(text)}},
	}
}

// Restrict takes rights from an account's role, such as things.delete. Credentials that were made keep theirs.
func (c *Cloud) Restrict(account string, rights ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.accounts[account]; a != nil {
		a.rights = slices.DeleteFunc(slices.Clone(a.rights), func(r string) bool { return slices.Contains(rights, r) })
	}
}

// Withdraw makes credentials invalid.
func (c *Cloud) Withdraw(credentials provider.Credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tokens[credentials.Values[TokenName].Reveal()]; t != nil {
		t.withdrawn = true
	}
}

// Expire ends credentials now.
func (c *Cloud) Expire(credentials provider.Credentials) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tokens[credentials.Values[TokenName].Reveal()]; t != nil {
		t.expiry = c.options.Now()
	}
}

// MayWrite says whether credentials let anything be made or deleted.
func (c *Cloud) MayWrite(credentials provider.Credentials) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tokens[credentials.Values[TokenName].Reveal()]
	return t != nil && !t.withdrawn && slices.ContainsFunc(t.rights, func(r string) bool { return r != rightGet && r != rightList })
}

// issue makes a token. It needs the lock.
func (c *Cloud) issue(t token) string {
	c.made++
	text := fmt.Sprintf("fake-secret-%s-%04d", t.account, c.made)
	c.tokens[text] = &t
	return text
}

// session is one call's way into the cloud: it is made from the request and dropped with it.
type session struct {
	token, account, cluster string
}

// open reads credentials. The cloud judges them at each call.
func (c *Cloud) open(credentials provider.Credentials) (session, error) {
	secret := credentials.Values[TokenName]
	if secret.IsZero() {
		return session{}, provider.Errorf(provider.Unauthenticated, "the credentials hold no %s: add it to the Secret", TokenName)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := session{token: secret.Reveal()}
	if t := c.tokens[s.token]; t != nil {
		s.account, s.cluster = t.account, t.cluster
	}
	return s, nil
}

// mayWrite says whether something with these labels is within the credentials' scope.
func (s session) mayWrite(labels map[string]string) error {
	if s.cluster != "" && labels[LabelIncarnation] != s.cluster {
		return provider.Errorf(provider.Denied, "the credentials are for another cluster: make some for this one")
	}
	return nil
}
