// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud

import (
	"path/filepath"
	"slices"
)

// Faults is what is wrong with the cloud. The zero value is a good day.
type Faults struct {
	// Throttle is how many of the next calls are refused with 429; -1: all. RetryAfter is what these say to wait, in seconds; 0: 1.
	Throttle   int `json:"throttle,omitempty"`
	RetryAfter int `json:"retryAfter,omitempty"`
	// ThrottlePage is the page of every list, from 1, that is refused so; 0: none.
	ThrottlePage int `json:"throttlePage,omitempty"`
	// Expired says of every token that it has ended.
	Expired bool `json:"expired,omitempty"`
	// Down answers every call with 503; Silent never answers.
	Down   bool `json:"down,omitempty"`
	Silent bool `json:"silent,omitempty"`
	// SilentRegions do not answer: what is in them can be neither listed nor looked at.
	SilentRegions []string `json:"silentRegions,omitempty"`
	// DeniedKinds may be looked at by nobody; Denied are things to do that nobody may: get, list, put, delete, credential.
	DeniedKinds []string `json:"deniedKinds,omitempty"`
	Denied      []string `json:"denied,omitempty"`
	// Quota is how many things there may be; 0: any number.
	Quota int `json:"quota,omitempty"`
	// ListLag is how many lists do not have a new thing yet; HiddenFromLists are IDs that none has, although the things are there.
	ListLag         int      `json:"listLag,omitempty"`
	HiddenFromLists []string `json:"hiddenFromLists,omitempty"`
	// EmptyPages puts an empty page with a token before the others of every list.
	EmptyPages bool `json:"emptyPages,omitempty"`
	// Settle is how many looks at a thing it takes until it is no longer pending or deleting; Stalled keeps it as it is.
	Settle  int  `json:"settle,omitempty"`
	Stalled bool `json:"stalled,omitempty"`
	// FailedSnapshots makes new snapshots end as failed.
	FailedSnapshots bool `json:"failedSnapshots,omitempty"`
}

// Set makes these things wrong with the cloud, and nothing else. It is kept like everything.
func (c *Cloud) Set(f Faults) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.SilentRegions, f.DeniedKinds = slices.Clone(f.SilentRegions), slices.Clone(f.DeniedKinds)
	f.Denied, f.HiddenFromLists = slices.Clone(f.Denied), slices.Clone(f.HiddenFromLists)
	if err := writeJSON(filepath.Join(c.options.Folder, faultsFile), f); err != nil {
		return err
	}
	c.faults = f
	return nil
}

// Faults is what is wrong.
func (c *Cloud) Faults() Faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// throttled says whether this call is refused, and counts it. It needs the lock.
func (c *Cloud) throttled() bool {
	if c.faults.Throttle > 0 {
		c.faults.Throttle--
		return true
	}
	return c.faults.Throttle < 0
}

// reach says why things of a kind in a region can't be seen; an empty region: in any. It needs the lock.
func (c *Cloud) reach(kind, region string) *Error {
	for _, silent := range c.faults.SilentRegions {
		if region == "" || region == silent {
			return failure(CodeUnavailable, "the region %s does not answer", silent)
		}
	}
	if slices.Contains(c.faults.DeniedKinds, kind) {
		return failure(CodeDenied, "the token may not look at things of the kind %s: add the right", kind)
	}
	return nil
}

// settle lets a passing state pass. It needs the lock.
func (c *Cloud) settle(k *kept) error {
	if k.State == StateAvailable || k.State == StateFailed || c.faults.Stalled {
		return nil
	}
	if k.settling--; k.settling > 0 {
		return nil
	}
	if k.State == StateDeleting {
		return c.drop(k.ID)
	}
	k.State = StateAvailable
	return c.save(k)
}
