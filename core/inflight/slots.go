// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"context"
	"sync"
)

// Limits bounds how many calls run at once.
type Limits struct {
	// All is how many in all; Bucket, which is less, how many of one bucket. Calls in the empty bucket share nothing, so they
	// may be All less Bucket: one bucket's share stays free of them.
	All, Bucket int
}

// slots is a semaphore a bucket, and one for all.
type slots struct {
	limits Limits
	all    chan struct{}

	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket is there as long as somebody waits or runs in it.
type bucket struct {
	slots chan struct{}
	users int
}

func newSlots(limits Limits) *slots {
	return &slots{limits: limits, all: make(chan struct{}, limits.All), buckets: map[string]*bucket{}}
}

// enter waits for a slot, and is false when ctx is over. The bucket's own slot comes first: who waits for that must not hold one
// that other buckets could use.
func (s *slots) enter(ctx context.Context, name string) (leave func(), ok bool) {
	b := s.join(name)
	if !take(ctx, b.slots) {
		s.part(name, b)
		return nil, false
	}
	if !take(ctx, s.all) {
		<-b.slots
		s.part(name, b)
		return nil, false
	}
	return func() {
		<-s.all
		<-b.slots
		s.part(name, b)
	}, true
}

// take is false when ctx is over, even where a slot is free as well.
func take(ctx context.Context, slots chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *slots) join(name string) *bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buckets[name]
	if b == nil {
		most := s.limits.Bucket
		if name == "" {
			most = s.limits.All - s.limits.Bucket
		}
		b = &bucket{slots: make(chan struct{}, most)}
		s.buckets[name] = b
	}
	b.users++
	return b
}

func (s *slots) part(name string, b *bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.users--; b.users == 0 {
		delete(s.buckets, name)
	}
}
