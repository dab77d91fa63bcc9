// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/core/inflight"
)

// gauge counts what runs at once, by bucket and, under "all", together.
type gauge struct {
	mu        sync.Mutex
	now, most map[string]int
}

func newGauge() *gauge { return &gauge{now: map[string]int{}, most: map[string]int{}} }

func (g *gauge) add(bucket string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range []string{bucket, "all"} {
		g.now[name] += n
		g.most[name] = max(g.most[name], g.now[name])
	}
}

// call answers after a while, and is counted meanwhile.
func (g *gauge) call(bucket string, d time.Duration) func(context.Context) string {
	return func(ctx context.Context) string {
		g.add(bucket, 1)
		defer g.add(bucket, -1)
		return after(d, bucket)(ctx)
	}
}

func TestLimits(t *testing.T) {
	cases := map[string]struct {
		reason string
		calls  map[string]int // by bucket
		most   map[string]int // that run at once
	}{
		"one bucket": {
			reason: "an account never has more calls at once than the bound of a bucket, however much is free",
			calls:  map[string]int{"aws/acme": 40},
			most:   map[string]int{"aws/acme": 8, "all": 8},
		},
		"two accounts of a provider": {
			reason: "accounts are throttled apart from one another, so they are bounded apart",
			calls:  map[string]int{"aws/acme": 40, "aws/globex": 40},
			most:   map[string]int{"aws/acme": 8, "aws/globex": 8, "all": 16},
		},
		"many buckets": {
			reason: "memory and connections are the operator's, whatever they are for",
			calls:  map[string]int{"a": 20, "b": 20, "c": 20, "d": 20, "e": 20, "f": 20},
			most:   map[string]int{"a": 8, "b": 8, "c": 8, "d": 8, "e": 8, "f": 8, "all": 32},
		},
		"no bucket": {
			reason: "calls that share nothing are not held to one account's bound, and leave room for one bucket",
			calls:  map[string]int{"": 100},
			most:   map[string]int{"": 24, "all": 24},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				w, running, total := &woken{}, newGauge(), 0
				g := inflight.New[string, string](ctx, inflight.Limits{All: 32, Bucket: 8}, time.Now, w.wake)
				for bucket, calls := range tc.calls {
					total += calls
					for i := range calls {
						g.Start(fmt.Sprint(bucket, i), bucket, "v1", running.call(bucket, time.Second))
					}
				}
				elapse(time.Minute)
				synctest.Wait()
				if w.count() != total {
					t.Errorf("%d of %d have answered: %s", w.count(), total, tc.reason)
				}
				for bucket, most := range running.most {
					if most > tc.most[bucket] {
						t.Errorf("%q ran %d at once, want at most %d: %s", bucket, most, tc.most[bucket], tc.reason)
					}
				}
				if len(tc.calls) == 1 {
					if diff := cmp.Diff(tc.most, running.most); diff != "" {
						t.Errorf("all that may run at once should: %s (-want +got):\n%s", tc.reason, diff)
					}
				}
				cancel()
				g.Wait()
			})
		})
	}
}

// TestSlowBucketStarvesNobody is an account whose calls hang for an hour, and calls that share nothing and hang as well: those of
// another account answer at once.
func TestSlowBucketStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &woken{}
		g := inflight.New[string, string](ctx, inflight.Limits{All: 32, Bucket: 8}, time.Now, w.wake)
		for i := range 100 {
			g.Start(fmt.Sprint("hangs", i), "aws/acme", "v1", after(time.Hour, "late"))
		}
		synctest.Wait()
		for i := range 8 {
			g.Start(fmt.Sprint("other", i), "aws/globex", "v1", after(time.Second, "fine"))
			g.Start(fmt.Sprint("direct", i), "", "v1", after(time.Second, "fine"))
		}
		elapse(time.Second)
		synctest.Wait()
		if w.count() != 16 {
			t.Errorf("%d of 16 have answered beside an account that hangs", w.count())
		}
		cancel()
		g.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &woken{}
		g := inflight.New[string, string](ctx, inflight.Limits{All: 32, Bucket: 8}, time.Now, w.wake)
		for i := range 100 {
			g.Start(fmt.Sprint("hangs", i), "", "v1", after(time.Hour, "late"))
		}
		synctest.Wait()
		for i := range 8 {
			g.Start(fmt.Sprint("other", i), "aws/globex", "v1", after(time.Second, "fine"))
		}
		elapse(time.Second)
		synctest.Wait()
		if w.count() != 8 {
			t.Errorf("%d of 8 have answered beside clusters that hang", w.count())
		}
		cancel()
		g.Wait()
	})
}

// TestReplacedWhileItWaits is that a call which nobody wants any more gives its place up, also when it never began.
func TestReplacedWhileItWaits(t *testing.T) {
	in(t, 1, func(t *testing.T, g *inflight.Group[string, string], w *woken) {
		g.Start("first", "aws/acme", "v1", after(10*time.Second, "fine"))
		synctest.Wait()
		for i := range 50 {
			g.Start("edge", "aws/acme", fmt.Sprint(i), after(time.Second, fmt.Sprint(i)))
		}
		g.Start("gone", "aws/acme", "v1", after(time.Hour, "never"))
		g.Forget("gone")
		elapse(11 * time.Second)
		synctest.Wait()
		if answer, _ := g.Get("edge"); answer == nil || answer.Value != "49" || w.count() != 2 {
			t.Errorf("got %+v, woken %d times", answer, w.count())
		}
	})
}

// TestRestart is that nothing outlives the process: the next one finds no answer, and asks again.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			w := &woken{}
			g := inflight.New[string, string](ctx, inflight.Limits{All: 2, Bucket: 1}, time.Now, w.wake)
			if answer, running := g.Get("edge"); answer != nil || running {
				t.Errorf("before anybody asked: %+v %v", answer, running)
			}
			g.Start("edge", "aws/acme", "v1", after(time.Second, "fine"))
			elapse(time.Second)
			synctest.Wait()
			if answer, _ := g.Get("edge"); answer == nil || w.count() != 1 {
				t.Errorf("got %+v, woken %d times", answer, w.count())
			}
			g.Start("edge", "aws/acme", "v1", after(time.Hour, "late"))
			cancel()
			g.Wait()
		}
	})
}
