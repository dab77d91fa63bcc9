// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
)

// restarts adds up how often plugins were restarted: the host counts since it began to run a program, the status counts for as long
// as the Provider lives.
type restarts struct {
	mu    sync.Mutex
	tally map[string]tally // by the Provider's name
}

type tally struct {
	uid  types.UID
	spec pluginhost.Spec
	// host is the host's count that is in total already.
	host  int
	total int32
}

// count is the Provider's new total, given what the host says now. What the Provider's status says is only asked the first time: it
// may be older than the last sum. The host's tries of what can't even be started are none of the plugin's restarts, and would cost a
// write a minute for as long as its file is missing.
func (r *restarts) count(p *v1alpha1.Provider, state pluginhost.State) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.tally[p.Name]
	if !ok || t.uid != p.UID {
		t = tally{uid: p.UID, spec: specOf(p), total: p.Status.Restarts}
	}
	host := state.Restarts
	if t.spec != specOf(p) || host < t.host {
		t.spec, t.host = specOf(p), 0 // the host began anew
	}
	if !neverRan(state.Reason) {
		t.total += int32(host - t.host) //nolint:gosec // a restart takes longer than a second
	}
	t.host = host
	if r.tally == nil {
		r.tally = map[string]tally{}
	}
	r.tally[p.Name] = t
	return t.total
}

// forget drops the count of a plugin that the host no longer runs.
func (r *restarts) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tally, name)
}

// neverRan says of a reason that no process was started at all.
func neverRan(reason string) bool {
	switch reason {
	case v1alpha1.ReasonBinaryMissing, v1alpha1.ReasonChecksumMismatch, v1alpha1.ReasonNotExecutable, v1alpha1.ReasonNoSocketFolder:
		return true
	}
	return false
}
