// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pluginhost runs provider plugins: programs of their own, which may crash, lie or hang without hurting whoever
// calls them.
//
// A [Host] has one plugin a name. [Host.Ensure] says which binary that is; from then on the host starts it, asks it every
// half minute whether it still answers, and starts it again when it is gone, with growing pauses and never giving up.
// [Host.Provider] hands out a provider.Provider that outlives the processes behind it: every call finds the one that runs
// now, waits shortly for one that is being started, has a deadline, and fails with a *provider.Error that names the plugin. What a
// plugin answers is held against the contract before it is handed on.
//
// Each name has one supervisor at a time (supervisor.go), a goroutine that owns the life of the processes of one binary. When the
// binary changes, the old supervisor lets running calls finish and ends its process, while a new one starts the next.
//
// This is the only package of the core that knows the SDK's plugin package.
package pluginhost

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"darkshift.io/infrared/sdk/provider"
)

// Host runs plugins. Its methods may be called from many goroutines at once.
type Host struct {
	settings
	// begin makes the context of a supervisor; it ends with cutAll, which kills whatever still runs.
	begin  func() (context.Context, context.CancelFunc)
	cutAll context.CancelFunc

	mu      sync.Mutex
	plugins map[string]*supervisor
	closed  bool
	running sync.WaitGroup // supervisors, those that only drain included
}

// settings are what a host and its supervisors share.
type settings struct {
	dial    dialer
	clock   clock.WithTicker
	log     logr.Logger
	metrics *metrics
	changed func(name string)
	// isAttached says of a name that somebody else runs that plugin.
	isAttached func(name string) bool
	// random gives numbers in [0, 1), for jitter.
	random func() float64
	// stopTime is how long a plugin may take to end once it has been told to.
	stopTime time.Duration
	// hurry is closed when the host closes: nobody waits for running calls any more.
	hurry chan struct{}
}

// New makes a host that runs nothing yet. Whoever makes it calls Close.
func New(o Options) *Host {
	o = o.withDefaults()
	return newHost(o, o.dialer())
}

func newHost(o Options, dial dialer) *Host {
	o = o.withDefaults()
	//nolint:forbidigo // plugins run until Close, longer than the context of any call that asks for one
	life, cutAll := context.WithCancel(context.Background())
	return &Host{
		settings: settings{
			dial: dial, clock: o.Clock, log: o.Log, metrics: newMetrics(o.Metrics, o.Log), changed: o.Changed,
			isAttached: func(name string) bool { _, ok := o.Attach[name]; return ok },
			random:     rand.Float64, stopTime: o.StopTime, hurry: make(chan struct{}),
		},
		begin:   func() (context.Context, context.CancelFunc) { return context.WithCancel(life) },
		cutAll:  cutAll,
		plugins: map[string]*supervisor{},
	}
}

// Ensure has the plugin run from that binary, and returns at once. Where another binary runs under the name, new calls go to
// the new one from now on, and the old one ends when its running calls have. With an unchanged spec it does nothing.
func (h *Host) Ensure(name string, spec Spec) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.plugins[name]
	if h.closed || before != nil && before.spec == spec {
		return
	}
	next := newSupervisor(h.settings, name, spec)
	if before != nil {
		next.state.Description = before.snapshot().Description
		before.retire()
	}
	h.plugins[name] = next
	h.metrics.healthy.WithLabelValues(name).Set(0)
	hard, release := h.begin()
	work, retire := context.WithCancel(hard)
	next.cancel = retire
	h.running.Go(func() {
		defer release()
		next.run(work, hard)
	})
}

// Remove forgets the plugin, and returns at once. Its process ends when its running calls have; new ones find no plugin.
func (h *Host) Remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.plugins[name]; s != nil {
		delete(h.plugins, name)
		s.retire()
		h.metrics.forget(name)
	}
}

// State is how the plugin is now; false: there is none of that name.
func (h *Host) State(name string) (State, bool) {
	s := h.find(name)
	if s == nil {
		return State{}, false
	}
	return s.snapshot(), true
}

// Provider is the plugin of that name, also before it was ever started and while it is down: every call looks for the process
// that runs now. Errors are of type *provider.Error.
//
// cloud is the provider that the caller takes it for, such as aws; empty: any. A call that finds a process which says that it is for
// another one fails as [ErrUnusable] before anything is sent: what is in the call, credentials too, is none of that plugin's business.
//
// The answer implements provider.Accounts unless the plugin is known not to. Ask again for each use.
func (h *Host) Provider(name, cloud string) provider.Provider {
	plain := supervised{host: h, name: name, cloud: cloud}
	if state, ok := h.State(name); ok && known(state.Description) && !has(state.Description, provider.CapabilityAccounts) {
		return plain
	}
	return withAccounts{plain}
}

// Close ends every plugin and returns when all are gone. Running calls are asked to wind down; what still runs shortly before
// ctx ends is killed.
func (h *Host) Close(ctx context.Context) {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.hurry)
	}
	for _, s := range h.plugins {
		s.retire()
	}
	h.mu.Unlock()

	gone := make(chan struct{})
	go func() {
		h.running.Wait()
		close(gone)
	}()
	ctx, cancel := h.beforeEnd(ctx)
	defer cancel()
	select {
	case <-gone:
	case <-ctx.Done():
	}
	// Killing is bounded by itself, and nothing may be left behind.
	h.cutAll()
	<-gone
}

// beforeEnd ends before ctx does, so that there is time left to kill.
func (h *Host) beforeEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(end)
	return context.WithTimeout(ctx, left-min(left/4, killTime))
}

func (h *Host) find(name string) *supervisor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plugins[name]
}
