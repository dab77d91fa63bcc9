// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// errNotFound is how the API says that there is no such thing.
var errNotFound = errors.New("not found")

// enter is what every call to the API goes through: the cloud's trouble first, then the right. It returns with the lock
// held where err is nil.
func (c *Cloud) enter(ctx context.Context, s session, right string) error {
	c.mu.Lock()
	silent := c.trouble.Silent
	if silent {
		c.mu.Unlock()
		<-ctx.Done()
		return stopped()
	}
	err := c.judge(ctx, s, right)
	if err != nil {
		c.mu.Unlock()
	}
	return err
}

func (c *Cloud) judge(ctx context.Context, s session, right string) error {
	switch {
	case ctx.Err() != nil:
		return stopped()
	case c.trouble.Throttled:
		return c.throttle()
	}
	t := c.tokens[s.token]
	switch {
	case t == nil || t.withdrawn:
		return provider.Errorf(provider.Unauthenticated, "the cloud does not know the token in %s: give one that is valid", TokenName)
	case !t.expiry.IsZero() && !c.options.Now().Before(t.expiry):
		return provider.Errorf(provider.Unauthenticated, "the token in %s has expired: make a new one", TokenName)
	case !slices.Contains(t.rights, right):
		return provider.Errorf(provider.Denied, "the token in %s lacks the right %s: add it to the role", TokenName, right)
	}
	return nil
}

// check says whether the credentials let anything be seen, for a run that may have nothing to look at.
func (c *Cloud) check(ctx context.Context, s session) error {
	err := c.enter(ctx, s, rightGet)
	if err == nil {
		c.mu.Unlock()
	}
	return err
}

func stopped() error {
	return provider.Unavailablef(0, "stopped before the cloud answered: call again")
}

func (c *Cloud) throttle() error {
	return provider.Unavailablef(cmp.Or(c.trouble.RetryAfter, 3*time.Second), "the cloud asks for fewer calls")
}

// reach says why things of a kind in a zone can't be seen. It needs the lock.
func (c *Cloud) reach(kind, zone string) error {
	if slices.Contains(c.trouble.DeniedKinds, kind) {
		return provider.Errorf(provider.Denied, "the role may not look at things of the kind %s: add the right", kind)
	}
	if zone != "" && slices.Contains(c.trouble.SilentZones, zone) {
		return provider.Unavailablef(0, "zone %s does not answer", zone)
	}
	return nil
}

// get looks at one thing by its ID. The zone is where it was, without which the cloud does not know whom to ask.
func (c *Cloud) get(ctx context.Context, s session, kind, zone, id string) (Thing, error) {
	if err := c.enter(ctx, s, rightGet); err != nil {
		return Thing{}, err
	}
	defer c.mu.Unlock()
	if err := c.reach(kind, zone); err != nil {
		return Thing{}, err
	}
	t := c.things[id]
	if t == nil || t.Account != s.account {
		return Thing{}, errNotFound
	}
	if err := c.reach(t.Kind, t.Zone); err != nil {
		return Thing{}, err
	}
	seen := t.copy()
	c.settle(t)
	return seen, nil
}

// settle lets a passing state pass. It needs the lock.
func (c *Cloud) settle(t *Thing) {
	if t.State == StateAvailable || t.State == StateFailed || c.trouble.Stalled {
		return
	}
	if t.settling--; t.settling > 0 {
		return
	}
	switch t.State {
	case StatePending:
		t.State = StateAvailable
	case StateDeleting:
		delete(c.things, t.ID)
	case StateAvailable, StateFailed:
	}
}

// list gives one page of the things of a kind in a zone, or of those in no zone, and the token of the next page; empty
// after the last.
func (c *Cloud) list(ctx context.Context, s session, kind, zone, page string) ([]Thing, string, error) {
	if err := c.enter(ctx, s, rightList); err != nil {
		return nil, "", err
	}
	defer c.mu.Unlock()
	if err := c.reach(kind, zone); err != nil {
		return nil, "", err
	}
	number, after := 1, ""
	if page != "" {
		count, id, _ := strings.Cut(page, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, "", provider.Errorf(provider.Other, "%q is no token of a page", page)
		}
		number, after = n, id
	}
	if number == c.trouble.ThrottlePage {
		return nil, "", c.throttle()
	}
	if number == 1 && c.trouble.EmptyPages {
		return nil, "2:", nil
	}
	things, more := c.listed(s, kind, zone, after)
	if !more {
		return things, "", nil
	}
	return things, fmt.Sprintf("%d:%s", number+1, things[len(things)-1].ID), nil
}

// listed is a page of the things behind an ID, sorted by ID, and whether there are more. A token that counted instead of
// naming the last thing would skip one whenever another goes between two pages. It needs the lock.
func (c *Cloud) listed(s session, kind, zone, after string) (page []Thing, more bool) {
	for _, id := range slices.Sorted(maps.Keys(c.things)) {
		t := c.things[id]
		if id <= after || t.Account != s.account || t.Kind != kind || t.Zone != zone || slices.Contains(c.trouble.HiddenFromLists, id) {
			continue
		}
		if t.hidden > 0 {
			t.hidden--
			continue
		}
		if len(page) == c.options.PageSize {
			return page, true
		}
		page = append(page, t.copy())
		c.settle(t)
	}
	return page, false
}

// create makes a thing, or returns the one of that kind and name that is there: two calls at once make one thing.
func (c *Cloud) create(ctx context.Context, s session, t Thing) (Thing, error) {
	right := rightCreate
	if t.Kind == KindSnapshot {
		right = rightSnapshot
	}
	if err := c.enter(ctx, s, right); err != nil {
		return Thing{}, err
	}
	defer c.mu.Unlock()
	t.Account = s.account
	if err := c.reach(t.Kind, t.Zone); err != nil {
		return Thing{}, err
	}
	if err := s.mayWrite(t.Labels); err != nil {
		return Thing{}, err
	}
	there := 0
	for _, old := range c.things {
		if old.Account != t.Account {
			continue
		}
		there++
		if old.Kind != t.Kind || old.Name != t.Name || old.State == StateDeleting {
			continue
		}
		if old.Labels[LabelIncarnation] != t.Labels[LabelIncarnation] {
			return Thing{}, provider.Errorf(provider.Conflict, "there is a %s named %s that belongs to something else: remove it or choose another name", t.Kind, t.Name)
		}
		return old.copy(), nil
	}
	if c.trouble.Quota > 0 && there >= c.trouble.Quota {
		return Thing{}, provider.Errorf(provider.Quota, "the account may have no more things of the kind %s: ask the cloud for more", t.Kind)
	}
	t.State = StateAvailable
	if t.Kind == KindSnapshot {
		t.State = StatePending
		if c.trouble.FailedSnapshots {
			t.State = StateFailed
		}
	}
	c.writes++
	return c.add(t), nil
}

// remove begins to delete a thing. What is not there is errNotFound.
func (c *Cloud) remove(ctx context.Context, s session, id string) error {
	if err := c.enter(ctx, s, rightDelete); err != nil {
		return err
	}
	defer c.mu.Unlock()
	t := c.things[id]
	if t == nil || t.Account != s.account {
		return errNotFound
	}
	if err := c.reach(t.Kind, t.Zone); err != nil {
		return err
	}
	if err := s.mayWrite(t.Labels); err != nil {
		return err
	}
	if t.State != StateDeleting {
		c.writes++
		t.State, t.settling = StateDeleting, c.options.Settle
	}
	return nil
}

// cutLast cuts text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
