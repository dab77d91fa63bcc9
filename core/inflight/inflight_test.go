// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"darkshift.io/infrared/core/inflight"
)

// woken collects the keys that a group wakes.
type woken struct {
	mu   sync.Mutex
	keys []string
}

func (w *woken) wake(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keys = append(w.keys, key)
}

func (w *woken) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.keys)
}

// in runs a test with a group whose time is the bubble's.
func in(t *testing.T, limit int, f func(t *testing.T, g *inflight.Group[string, string], w *woken)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &woken{}
		g := inflight.New[string, string](ctx, inflight.Limits{All: 2 * limit, Bucket: limit}, time.Now, w.wake)
		f(t, g, w)
		cancel()
		g.Wait()
	})
}

// elapse lets the bubble's time go by, which takes none of ours.
func elapse(d time.Duration) { <-time.After(d) }

// after answers after a while, or says that it was cancelled.
func after(d time.Duration, answer string) func(context.Context) string {
	return func(ctx context.Context) string {
		select {
		case <-time.After(d):
			return answer
		case <-ctx.Done():
			return "cancelled"
		}
	}
}

func TestAnswer(t *testing.T) {
	in(t, 2, func(t *testing.T, g *inflight.Group[string, string], w *woken) {
		g.Start("edge", "aws/acme", "v1", after(time.Second, "fine"))
		if answer, running := g.Get("edge"); answer != nil || !running {
			t.Errorf("before it returned: %+v %v", answer, running)
		}
		elapse(time.Second)
		synctest.Wait()
		answer, running := g.Get("edge")
		if answer == nil || answer.Value != "fine" || answer.For != "v1" || !answer.At.Equal(time.Now()) || running || w.count() != 1 {
			t.Errorf("after it returned: %+v %v, woken %d times", answer, running, w.count())
		}
		// A new call leaves the old answer until it has one.
		g.Start("edge", "aws/acme", "v1", after(time.Second, "better"))
		if answer, running := g.Get("edge"); answer == nil || answer.Value != "fine" || !running {
			t.Errorf("while it is asked again: %+v %v", answer, running)
		}
	})
}

func TestOneCallAKey(t *testing.T) {
	in(t, 8, func(t *testing.T, g *inflight.Group[string, string], w *woken) {
		var calls atomic.Int32
		count := func(ctx context.Context) string {
			calls.Add(1)
			return after(time.Second, "fine")(ctx)
		}
		for range 10 {
			g.Start("edge", "aws/acme", "v1", count)
		}
		elapse(2 * time.Second)
		synctest.Wait()
		if calls.Load() != 1 || w.count() != 1 {
			t.Errorf("%d calls, woken %d times, want one of each", calls.Load(), w.count())
		}
	})
}

// TestReplaced is that an answer about what nobody asks for any more is never seen, not even when the same is asked for again.
func TestReplaced(t *testing.T) {
	in(t, 8, func(t *testing.T, g *inflight.Group[string, string], w *woken) {
		g.Start("edge", "aws/acme", "old", after(time.Second, "old answer"))
		g.Start("edge", "aws/acme", "new", after(2*time.Second, "new answer"))
		g.Start("edge", "aws/acme", "old", after(3*time.Second, "old answer, again"))
		g.Start("edge", "aws/acme", "new", after(4*time.Second, "new answer, again"))
		elapse(10 * time.Second)
		synctest.Wait()
		if answer, _ := g.Get("edge"); answer == nil || answer.Value != "new answer, again" || w.count() != 1 {
			t.Errorf("got %+v, woken %d times", answer, w.count())
		}
	})
}

// TestStubborn is a call that does not heed its context: its answer is dropped all the same.
func TestStubborn(t *testing.T) {
	in(t, 8, func(t *testing.T, g *inflight.Group[string, string], _ *woken) {
		g.Start("edge", "aws/acme", "old", func(context.Context) string { elapse(5 * time.Second); return "old" })
		g.Start("edge", "aws/acme", "new", after(time.Second, "new"))
		elapse(10 * time.Second)
		synctest.Wait()
		if answer, _ := g.Get("edge"); answer == nil || answer.Value != "new" {
			t.Errorf("got %+v", answer)
		}
	})
}

func TestForget(t *testing.T) {
	in(t, 8, func(t *testing.T, g *inflight.Group[string, string], w *woken) {
		g.Start("edge", "aws/acme", "v1", after(time.Second, "of the old one"))
		g.Forget("edge")
		if answer, running := g.Get("edge"); answer != nil || running {
			t.Errorf("after it was forgotten: %+v %v", answer, running)
		}
		g.Start("edge", "aws/acme", "v1", after(3*time.Second, "of the new one"))
		elapse(2 * time.Second)
		synctest.Wait()
		if answer, _ := g.Get("edge"); answer != nil || w.count() != 0 {
			t.Errorf("the answer of the forgotten call is seen: %+v", answer)
		}
		elapse(2 * time.Second)
		synctest.Wait()
		if answer, _ := g.Get("edge"); answer == nil || answer.Value != "of the new one" {
			t.Errorf("got %+v", answer)
		}
		g.Forget("edge")
		g.Forget("never asked")
	})
}

// TestBound is that no more than the limit run at once, and that the rest get their turn; one that is replaced while it waits takes none.
func TestBound(t *testing.T) {
	in(t, 3, func(t *testing.T, g *inflight.Group[string, string], w *woken) {
		var running, most atomic.Int32
		call := func(ctx context.Context) string {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			return after(time.Second, "fine")(ctx)
		}
		const calls = 20
		for i := range calls {
			g.Start(fmt.Sprint(i), "aws/acme", "v1", call)
			g.Start(fmt.Sprint(i), "aws/acme", "v2", call)
		}
		elapse(calls * time.Second)
		synctest.Wait()
		if most.Load() > 3 || w.count() != calls {
			t.Errorf("%d ran at once, %d have answered", most.Load(), w.count())
		}
	})
}

// TestEnd is that nothing runs on when the process ends, and nobody is woken any more.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &woken{}
		g := inflight.New[string, string](ctx, inflight.Limits{All: 2, Bucket: 1}, time.Now, w.wake)
		for i := range 5 {
			g.Start(fmt.Sprint(i), "aws/acme", "v1", after(time.Hour, "too late"))
		}
		cancel()
		g.Wait()
		if w.count() != 0 {
			t.Errorf("woken %d times", w.count())
		}
	})
}

// TestRace is for the race detector: everything at once.
func TestRace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := inflight.New[string, string](ctx, inflight.Limits{All: 4, Bucket: 2}, time.Now, func(string) {})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				key := fmt.Sprint(n % 5)
				g.Start(key, fmt.Sprint(i%3), fmt.Sprint(i), func(context.Context) string { return key })
				if answer, _ := g.Get(key); answer != nil && answer.Value != key {
					t.Errorf("the answer of another key: %+v", answer)
				}
				if n%17 == 0 {
					g.Forget(key)
				}
			}
		})
	}
	all.Wait()
	cancel()
	g.Wait()
}
