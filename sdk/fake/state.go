// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

func stateKey(s session, of provider.Cluster) string { return s.account + "/" + of.Incarnation }

// lock lets one run hold the state.
func (c *Cloud) lock(s session, of provider.Cluster) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := stateKey(s, of)
	if c.runs[key] {
		return provider.Errorf(provider.Conflict, "another run holds the state of %s: wait for it to end", of.Name)
	}
	c.runs[key] = true
	return nil
}

func (c *Cloud) unlock(s session, of provider.Cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.runs, stateKey(s, of))
}

// state lists what builds made for a cluster and is not gone, as it is in truth.
func (c *Cloud) state(s session, of provider.Cluster) []Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Thing
	for _, id := range c.states[stateKey(s, of)] {
		if t := c.things[id]; t != nil {
			all = append(all, t.copy())
		}
	}
	return all
}

func (c *Cloud) remember(s session, of provider.Cluster, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := stateKey(s, of)
	if !slices.Contains(c.states[key], id) {
		c.states[key] = append(c.states[key], id)
	}
}

func (c *Cloud) forget(s session, of provider.Cluster, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := stateKey(s, of)
	c.states[key] = slices.DeleteFunc(c.states[key], func(old string) bool { return old == id })
}
