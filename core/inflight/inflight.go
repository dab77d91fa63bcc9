// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inflight makes slow calls to the outside beside the reconcile workers: at most one a key at a time, a bounded number a
// bucket and a bounded number in all.
//
// A bucket is what calls wait for together, such as one provider's one account. A bucket whose calls hang fills its own share of
// the slots and none of the others'.
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
	slots *slots

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

// New makes a group whose calls end with ctx and keep within the limits. wake is called, without any lock held, each time a call
// has returned; now tells the time.
func New[K comparable, V any](ctx context.Context, limits Limits, now func() time.Time, wake func(K)) *Group[K, V] {
	return &Group[K, V]{
		begin: func() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
		now:   now, wake: wake,
		slots: newSlots(limits),
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

// Start begins a call in a bucket about what the fingerprint names, unless one about just that is running. A running call about
// something else is cancelled, since nobody waits for its answer any more. The call must heed its context. The empty bucket is for
// calls that share nothing with others.
func (g *Group[K, V]) Start(key K, bucket, fingerprint string, fn func(context.Context) V) {
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
	go func() {
		defer g.done.Done()
		defer cancel()
		leave, ok := g.slots.enter(ctx, bucket)
		if !ok {
			return
		}
		value := fn(ctx)
		leave()
		if g.keep(ctx, key, c, fingerprint, value) {
			g.wake(key)
		}
	}()
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
