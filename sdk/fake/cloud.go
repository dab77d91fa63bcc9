// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// The labels that everything made for a cluster carries.
const (
	LabelCluster     = "infrared-cluster"
	LabelIncarnation = "infrared-cluster-uid"
)

// State is the cloud's word for how a thing is.
type State string

// The states of a thing. One that is gone has none: it is not found.
const (
	StatePending   State = "pending"
	StateAvailable State = "available"
	StateDeleting  State = "deleting"
	// StateFailed is a snapshot that came to nothing.
	StateFailed State = "failed"
)

// Thing is one thing in the cloud.
type Thing struct {
	// ID is the cloud's own, made when the thing is added; no two things ever have the same.
	ID string
	// Kind is one of the names in Facts().Kinds. Name is unique among the things of a kind in an account.
	Kind, Name string
	// Zone is where it is; empty: everywhere.
	Zone string
	// Account is the ID of the account that it is in.
	Account string
	Labels  map[string]string
	// Traits are what it is made with, such as machine=small; they differ, so it has to be replaced.
	Traits map[string]string
	State  State
	// Role is what it is for.
	Role provider.Role
	// Hourly is its list price; nil where the cloud tells none.
	Hourly *provider.USD

	// settling counts the looks until it leaves a passing state, hidden the lists that do not have it yet.
	settling, hidden int
}

// Options say what a cloud is like.
type Options struct {
	// Zones are its zones; nil: fake-1a, fake-1b and fake-1c.
	Zones []string
	// PageSize is how many things a list gives at a time; 0: 3.
	PageSize int
	// Settle is how many looks at a thing it takes until it is no longer pending or deleting; 0: 2.
	Settle int
	// ListLag is how many lists do not have a new thing yet.
	ListLag int
	// Now is the clock by which credentials expire; nil: time.Now.
	Now func() time.Time
}

// Cloud is a cloud in memory. Make it by [NewCloud].
type Cloud struct {
	options Options

	mu       sync.Mutex
	things   map[string]*Thing
	accounts map[string]*account
	tokens   map[string]*token
	clusters map[string]*living
	// runs are the builds that hold a state, states the IDs in each, by account and incarnation.
	runs    map[string]bool
	states  map[string][]string
	trouble Trouble
	made    int
	writes  int
}

// NewCloud makes an empty cloud.
func NewCloud(o Options) *Cloud {
	if o.Zones == nil {
		o.Zones = []string{"fake-1a", "fake-1b", "fake-1c"}
	}
	o.PageSize = cmp.Or(o.PageSize, 3)
	o.Settle = cmp.Or(o.Settle, 2)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Cloud{
		options: o, things: map[string]*Thing{}, accounts: map[string]*account{}, tokens: map[string]*token{},
		clusters: map[string]*living{}, runs: map[string]bool{}, states: map[string][]string{},
	}
}

// Zones lists the zones, in their order.
func (c *Cloud) Zones() []string { return slices.Clone(c.options.Zones) }

// Add puts a thing into the cloud past its API, and returns it with its ID. A state that is missing is available.
func (c *Cloud) Add(t Thing) Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(t)
}

// add needs the lock.
func (c *Cloud) add(t Thing) Thing {
	c.made++
	t.ID = fmt.Sprintf("%s-%04d", t.Kind, c.made)
	t.State = cmp.Or(t.State, StateAvailable)
	t.settling = c.options.Settle
	t.hidden = c.options.ListLag
	t.Labels, t.Traits = maps.Clone(t.Labels), maps.Clone(t.Traits)
	c.things[t.ID] = &t
	return t.copy()
}

// Remove takes things away at once, past the API. What is not there is no matter.
func (c *Cloud) Remove(ids ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		delete(c.things, id)
	}
}

// BeginDelete begins to delete things, past the API: they are there until they were looked at as often as the options say.
func (c *Cloud) BeginDelete(ids ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if t := c.things[id]; t != nil {
			t.State, t.settling = StateDeleting, c.options.Settle
		}
	}
}

// SetLabels replaces a thing's labels, past the API.
func (c *Cloud) SetLabels(id string, labels map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.things[id]; t != nil {
		t.Labels = maps.Clone(labels)
	}
}

// Things lists all that is there in truth, sorted by ID, without being a look.
func (c *Cloud) Things() []Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Thing, 0, len(c.things))
	for _, id := range slices.Sorted(maps.Keys(c.things)) {
		all = append(all, c.things[id].copy())
	}
	return all
}

// Writes counts what was made, deleted or given access to through the API. That a thing settles is no write.
func (c *Cloud) Writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// LoseState forgets what builds made for an incarnation, as a killed OpenTofu does. The things stay.
func (c *Cloud) LoseState(incarnation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.states {
		if _, of, _ := cutLast(key, "/"); of == incarnation {
			delete(c.states, key)
		}
	}
}

func (t *Thing) copy() Thing {
	c := *t
	c.Labels, c.Traits = maps.Clone(t.Labels), maps.Clone(t.Traits)
	return c
}
