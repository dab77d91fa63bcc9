// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inflight makes slow calls to the outside beside the reconcile workers, at most one a key at a time and a bounded
// number in all.
//
// A reconcile asks for a call by Start and returns; when the call ends, the group wakes the reconciler for that key, which
// then finds the answer. Nothing is stored: after a restart the reconciler finds no answer and asks again.
package inflight

import (
	"context"
	"sync"
	"time"
)

// Answer is what a call returned, and when.
type Answer[V any] struct {
	// Value that the call returned.
	Value V
	// For is the fingerprint that the call was started with: what it was about.
	For string
	// At is when it returned.
	At time.Time
}

// Group runs calls that return a V, under keys of type K.
type Group[K comparable, V any] struct {
	begin func() (context.Context, context.CancelFunc) // the context of a call
	now   func() time.Time
	wake  func(K)
	slots chan struct{}

	mu    sync.Mutex
	calls map[K]*call[V]
	done  sync.WaitGroup
}

type call[V any] struct {
	running bool
	cancel  context.CancelFunc
	// want is what the running call is about; an answer to anything else is dropped.
	want   string
	answer *Answer[V]
}

// New makes a group whose calls end with ctx, of which at most limit run at once. wake is called, without any lock held, each
// time a call has returned; now tells the time.
func New[K comparable, V any](ctx context.Context, limit int, now func() time.Time, wake func(K)) *Group[K, V] {
	return &Group[K, V]{
		begin: func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
		now:   now, wake: wake,
		slots: make(chan struct{}, limit),
		calls: map[K]*call[V]{},
	}
}

// Get returns the newest answer under key, if there is one, and whether a call is running now.
func (g *Group[K, V]) Get(key K) (answer *Answer[V], running bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.calls[key]
	if c == nil {
		return nil, false
	}
	return c.answer, c.running
}

// Start begins a call about what the fingerprint names, unless one about just that is running. A running call about something
// else is cancelled, since nobody waits for its answer any more. The call must heed its context.
func (g *Group[K, V]) Start(key K, fingerprint string, fn func(context.Context) V) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.calls[key]
	if c == nil {
		c = &call[V]{}
		g.calls[key] = c
	}
	if c.running {
		if c.want == fingerprint {
			return
		}
		c.cancel()
	}
	ctx, cancel := g.begin()
	c.running, c.want, c.cancel = true, fingerprint, cancel
	g.done.Add(1)
	go g.run(ctx, cancel, key, c, fingerprint, fn)
}

func (g *Group[K, V]) run(ctx context.Context, cancel context.CancelFunc, key K, c *call[V], fingerprint string, fn func(context.Context) V) {
	defer g.done.Done()
	defer cancel()
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	value := fn(ctx)
	<-g.slots
	if g.keep(ctx, key, c, fingerprint, value) {
		g.wake(key)
	}
}

// keep stores the answer, unless the call was replaced or forgotten meanwhile.
func (g *Group[K, V]) keep(ctx context.Context, key K, c *call[V], fingerprint string, value V) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil || g.calls[key] != c || c.want != fingerprint {
		return false
	}
	c.running = false
	c.answer = &Answer[V]{Value: value, For: fingerprint, At: g.now()}
	return true
}

// Forget cancels what runs under key and drops its answer.
func (g *Group[K, V]) Forget(key K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.calls[key]; c != nil && c.running {
		c.cancel()
	}
	delete(g.calls, key)
}

// Wait returns once every call has ended; the group's context must be over.
func (g *Group[K, V]) Wait() { g.done.Wait() }
