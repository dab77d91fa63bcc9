// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"slices"
	"time"
)

// Trouble is what is wrong with the cloud. The zero value is a good day.
type Trouble struct {
	// SilentZones do not answer: what is in them can be neither listed nor looked at.
	SilentZones []string
	// DeniedKinds are kinds of thing that nobody may look at.
	DeniedKinds []string
	// Throttled refuses every call, and asks to wait for RetryAfter.
	Throttled bool
	// ThrottlePage is the page of every list, from 1, that is refused so; 0: none.
	ThrottlePage int
	// RetryAfter is how long a throttle asks to wait; 0: 3 s.
	RetryAfter time.Duration
	// EmptyPages puts an empty page with a token before the others of every list.
	EmptyPages bool
	// HiddenFromLists are IDs that no list has, although the things are there.
	HiddenFromLists []string
	// Stalled keeps what is pending or deleting as it is.
	Stalled bool
	// Silent answers no call before its ctx ends.
	Silent bool
	// ClusterDown lets no cluster's API server answer.
	ClusterDown bool
	// Quota is how many things may be in an account; 0: any number.
	Quota int
	// FailedSnapshots makes new snapshots end as failed.
	FailedSnapshots bool
}

// Set puts the cloud into trouble, or out of it with the zero value.
func (c *Cloud) Set(t Trouble) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.SilentZones, t.DeniedKinds = slices.Clone(t.SilentZones), slices.Clone(t.DeniedKinds)
	t.HiddenFromLists = slices.Clone(t.HiddenFromLists)
	c.trouble = t
}

// Trouble is what the cloud is in.
func (c *Cloud) Trouble() Trouble {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// AddForeign puts things near a cluster that are not its own, and returns them: another cluster's, those of a cluster that
// had the same name before, a disk that nobody uses, and a load balancer without labels.
func (c *Cloud) AddForeign(of Living) []Thing {
	account, zone := of.Identity.Account, c.options.Zones[0]
	other := map[string]string{LabelCluster: of.Cluster.Name + "-2", LabelIncarnation: "0b6c1c52-6a36-4f0e-8b52-1d0b8c0a77aa"}
	earlier := map[string]string{LabelCluster: of.Cluster.Name, LabelIncarnation: "f3a0c7d1-52b4-4a3e-9a57-64f1d2b6c9ee"}
	return []Thing{
		c.Add(Thing{Kind: KindDisk, Name: of.Cluster.Name + "-2-data", Zone: zone, Account: account, Labels: other}),
		c.Add(Thing{Kind: KindNode, Name: of.Cluster.Name + "-uf3a0c7d1-node-0", Zone: zone, Account: account, Labels: earlier}),
		c.Add(Thing{Kind: KindDisk, Name: "unattached", Zone: zone, Account: account}),
		c.Add(Thing{Kind: KindLoadBalancer, Name: of.Cluster.Name, Account: account}),
	}
}
