// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"darkshift.io/infrared/core/inflight"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

const (
	// looksAtOnce bounds how many clusters are asked at the same time, and with it memory and connections.
	looksAtOnce = 32
	// looksAtOnceOfOne bounds how many of them go to one plugin for one account, so that a slow one keeps nobody else waiting.
	looksAtOnceOfOne = 8
	// firstRetry and resync bound the growing wait between looks at a cluster that does not answer.
	firstRetry = 5 * time.Second
	// pluginRetry bounds the wait for a plugin that does not run.
	pluginRetry = 30 * time.Second
	// longestAfter bounds what a plugin may ask for, so that a mistake in it does not last for ever.
	longestAfter = time.Hour
	// patience is how many looks in a row must fail before a cluster that was connected counts as not connected: an API server that
	// answers every other time must not turn the condition every time.
	patience = 3
)

// which tells the two ways into a cluster that may be looked at side by side.
type which string

const (
	offered which = "offered" // by the kubeconfig Secret
	stored  which = "stored"  // the last one that connected, from Argo CD's Secret
	making  which = "making"  // no look: a kubeconfig of a built cluster is made
)

type lookKey struct {
	cluster string
	which   which
}

// finding is what one look came to.
type finding struct {
	found connect.Cluster
	// notLooked is what a plugin could not look at; without one it is in found.Limits.
	notLooked []provider.NotLooked
	// through is the Provider whose plugin was asked; empty without one.
	through string
	// after is in how long the plugin wants to be asked again at the soonest, where err is not its own any more.
	after time.Duration
	// made is what making came to.
	made *madeWay
	err  error
}

// soft reports whether the look failed in a way that may pass by itself.
func (f finding) soft() bool {
	var direct *connect.Error
	if errors.As(f.err, &direct) {
		return direct.Kind == connect.Unreachable || direct.Kind == connect.Timeout
	}
	var e *provider.Error
	if !errors.As(f.err, &e) {
		return false
	}
	switch provider.KindOf(e) {
	case provider.Unavailable, provider.Conflict, provider.Other:
		// Other is the plugin's own trouble, such as a crash, and says nothing about the cluster.
		return true
	default:
		return f.unusable()
	}
}

// unusable reports whether the look came to nothing because the plugin can't be used.
func (f finding) unusable() bool { return errors.Is(f.err, pluginhost.ErrUnusable) }

// wait is in how long a cluster is looked at again, after so many failures before this one. What has to change first is seen by the
// fingerprint, or on one of the looks that every cluster gets.
func (f finding) wait(failures int) time.Duration {
	growing := min(firstRetry<<min(failures, 10), resync)
	var e *provider.Error
	if !errors.As(f.err, &e) {
		return noSooner(jitter(growing), f.after)
	}
	wait := growing
	switch retry := provider.KindOf(e).Row().Retry; {
	case f.unusable():
		// Asking costs nothing: it is the host that answers.
		wait = min(growing, pluginRetry)
	case retry == provider.RetrySoon:
		wait = firstRetry
	case retry != provider.RetryBackoff:
		wait = resync
	}
	return noSooner(jitter(wait), e.After)
}

// noSooner is a wait that is as long as the plugin asked for, and does not end for all at the same moment either.
func noSooner(wait, after time.Duration) time.Duration {
	return max(wait, jitter(min(after, longestAfter)*5/4))
}

// looks asks clusters how they are, beside the reconcile workers, and remembers when to ask next. All of it is lost on a restart,
// and asked again.
type looks struct {
	group *inflight.Group[lookKey, finding]
	now   func() time.Time
	every time.Duration // between looks at a cluster that is well

	mu      sync.Mutex
	pending map[lookKey]*schedule
}

// schedule is when to look again.
type schedule struct {
	answered time.Time // when the answer came that the rest is about
	failures int
	next     time.Time
}

// view is the newest answer of a cluster.
type view struct {
	finding
	// failures in a row, up to now.
	failures int
	// next is in how long the next look is due.
	next time.Duration
}

func newLooks(group *inflight.Group[lookKey, finding], now func() time.Time, every time.Duration) *looks {
	return &looks{group: group, now: now, every: every, pending: map[lookKey]*schedule{}}
}

// see returns the newest answer about what fingerprint names, or nil while there is none yet. It starts a look where one is due;
// the group wakes the reconciler when that ends. Looks of one bucket are bounded together.
func (l *looks) see(key lookKey, bucket, fingerprint string, ask func(context.Context) finding) *view {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, _ := l.group.Get(key)
	if answer == nil || answer.For != fingerprint {
		delete(l.pending, key)
		l.group.Start(key, bucket, fingerprint, ask)
		return nil
	}
	plan := l.pending[key]
	if plan == nil {
		plan = &schedule{}
		l.pending[key] = plan
	}
	plan.heed(answer, l.every)
	wait := plan.next.Sub(l.now())
	if wait <= 0 {
		l.group.Start(key, bucket, fingerprint, ask)
		wait = resync // the wake comes first
	}
	return &view{finding: answer.Value, failures: plan.failures, next: wait}
}

// heed counts an answer once. A cluster that is well is looked at again after every.
func (s *schedule) heed(answer *inflight.Answer[finding], every time.Duration) {
	if s.answered.Equal(answer.At) {
		return
	}
	s.answered = answer.At
	if answer.Value.err == nil {
		s.failures, s.next = 0, answer.At.Add(jitter(every))
		return
	}
	s.failures, s.next = s.failures+1, answer.At.Add(answer.Value.wait(s.failures))
}

// hurry makes the looks due that came to nothing because the plugin of that Provider could not be used, and returns their clusters.
func (l *looks) hurry(through string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var clusters []string
	for key, plan := range l.pending {
		answer, _ := l.group.Get(key)
		if answer == nil || answer.Value.through != through || !answer.Value.unusable() {
			continue
		}
		// An answer that is not heeded yet must not put the look off again.
		plan.heed(answer, l.every)
		plan.next = l.now()
		clusters = append(clusters, key.cluster)
	}
	return clusters
}

// forget drops what is known of a cluster, and cancels what is being asked.
func (l *looks) forget(cluster string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range []which{offered, stored, making} {
		l.dropLocked(lookKey{cluster, w})
	}
}

// drop forgets an answer that was followed, and that must not be found again.
func (l *looks) drop(key lookKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropLocked(key)
}

func (l *looks) dropLocked(key lookKey) {
	delete(l.pending, key)
	l.group.Forget(key)
}

// jitter spreads a wait by a fifth, so that clusters registered together are not looked at together for ever.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
