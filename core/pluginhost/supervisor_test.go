// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

func TestStates(t *testing.T) {
	type look struct {
		Reason, Message string
		Healthy         bool
		PID, Restarts   int
	}
	for name, c := range map[string]struct {
		reason string
		does   func(w *world)
		want   look
	}{
		"runs": {
			reason: "a plugin that answers is healthy",
			does:   func(*world) {},
			want:   look{Reason: "Healthy", Message: "it runs and answers", Healthy: true, PID: 101},
		},
		"crashed once": {
			reason: "a plugin that fell once is started again at once",
			does:   func(w *world) { w.last().end(errors.New("exited with code 2: out of luck")) },
			want:   look{Reason: "Healthy", Message: "it runs and answers", Healthy: true, PID: 102, Restarts: 1},
		},
		"crashed twice": {
			reason: "one that falls again waits, and says how it ended",
			does: func(w *world) {
				w.last().end(errors.New("exited with code 2"))
				synctest.Wait()
				w.last().end(errors.New("was killed by signal 11"))
			},
			want: look{Reason: "Crashed", Message: "it was killed by signal 11; it is started again after a pause", Restarts: 1},
		},
		"does not start any more": {
			reason: "the reason of the start is the plugin's",
			does: func(w *world) {
				w.change(broken(plugin.ReasonPrintsFirst, `it printed "hello from init" first`))
				w.last().end(errors.New("exited with code 0"))
			},
			want: look{Reason: "PrintsFirst", Message: `it printed "hello from init" first`, Restarts: 1},
		},
		"failed without a type": {
			reason: "an error that nobody thought of is told all the same",
			does: func(w *world) {
				w.change(func(Spec) (*fakeProcess, error) { return nil, errors.New("the moon is in the wrong house") })
				w.last().end(nil)
			},
			want: look{Reason: "StartFailed", Message: "the moon is in the wrong house", Restarts: 1},
		},
		"misses two pings": {
			reason: "a machine may be slow for a minute",
			does: func(w *world) {
				w.last().setDeaf(true)
				elapse(2*pingEvery + pingTime)
				w.last().setDeaf(false)
				elapse(10 * pingEvery)
			},
			want: look{Reason: "Healthy", Message: "it runs and answers", Healthy: true, PID: 101},
		},
		"misses three pings": {
			reason: "a plugin that hangs is killed, and another one started",
			does: func(w *world) {
				w.last().setDeaf(true)
				elapse(3*pingEvery + pingTime)
			},
			want: look{Reason: "Healthy", Message: "it runs and answers", Healthy: true, PID: 102, Restarts: 1},
		},
		"hangs again": {
			reason: "one that never answers once it runs is not started again at once, and says Hung",
			does: func(w *world) {
				w.change(func(Spec) (*fakeProcess, error) {
					p := newFake(nil)
					p.setDeaf(true)
					return p, nil
				})
				w.last().end(errors.New("exited with code 2"))
				elapse(3*pingEvery + pingTime)
			},
			want: look{Reason: "Hung", Message: "it runs and did not answer 3 times in a row, 30s apart; it is killed and started again", Restarts: 1},
		},
		"is being killed": {
			reason: "while it is killed it is neither healthy nor called",
			does: func(w *world) {
				w.last().hold = make(chan struct{})
				w.last().setDeaf(true)
				elapse(3*pingEvery + pingTime)
			},
			want: look{Reason: "Hung", Message: "it runs and did not answer 3 times in a row, 30s apart; it is killed and started again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.host.Ensure("eks", Spec{Binary: "eks"})
				synctest.Wait()
				c.does(w)
				s := w.state(t)
				w.last().letGo()
				got := look{Reason: s.Reason, Message: s.Message, Healthy: s.Healthy, PID: s.PID, Restarts: s.Restarts}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
				if s.Description.Facts.Name != "aws" {
					t.Errorf("it declares %q, want what it last told: aws", s.Description.Facts.Name)
				}
			})
		})
	}
}

func TestStartsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		start  func(Spec) (*fakeProcess, error)
		most   int
	}{
		"never starts": {
			reason: "about ten starts in five minutes is all that a broken plugin may cost",
			start:  broken(plugin.ReasonCrashedAtStart, "exited with code 1"),
			most:   10,
		},
		"dies at once": {
			reason: "the first crash is answered at once, the others as slowly as a start that fails",
			start: func(Spec) (*fakeProcess, error) {
				p := newFake(nil)
				time.AfterFunc(10*time.Millisecond, func() { p.end(errors.New("exited with code 1")) })
				return p, nil
			},
			most: 11,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				// Without jitter there are the most.
				w.host.random = func() float64 { return 0 }
				w.change(c.start)
				w.host.Ensure("eks", Spec{Binary: "eks"})
				elapse(5*time.Minute - time.Second)
				if got := len(w.started()); got > c.most || got < 7 {
					t.Errorf("%d starts in five minutes, want at most %d and no fewer than 7: %s", got, c.most, c.reason)
				}
				before := len(w.started())
				elapse(time.Hour)
				if got := len(w.started()) - before; got < 30 || got > 61 {
					t.Errorf("%d starts in the hour after, want one every minute or so: it is never given up", got)
				}
			})
		})
	}
}

func TestJitterSpreads(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.random = func() float64 { return 0.5 }
		w.change(broken(plugin.ReasonCrashedAtStart, "exited with code 1"))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		elapse(10 * time.Minute)
		var gaps []time.Duration
		starts := w.started()
		for i := 1; i < 9; i++ {
			gaps = append(gaps, starts[i].Sub(starts[i-1]))
		}
		second := time.Second
		want := []time.Duration{1250 * time.Millisecond, 2500 * time.Millisecond, 5 * second, 10 * second, 20 * second, 40 * second, 75 * second, 75 * second}
		if diff := cmp.Diff(want, gaps); diff != "" {
			t.Errorf("pauses between starts, each longer by a quarter (-want +got):\n%s", diff)
		}
	})
}

func TestHealthForgetsFailures(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.Ensure("eks", Spec{Binary: "eks"})
		for range 5 {
			elapse(healthyTime + time.Second)
			before := len(w.started())
			w.last().end(errors.New("exited with code 1"))
			synctest.Wait()
			if got := len(w.started()) - before; got != 1 {
				t.Fatalf("%d starts right after a crash that followed a minute of health, want 1", got)
			}
		}
	})
}

func TestNothingChangesWithoutNews(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.Ensure("eks", Spec{Binary: "eks"})
		synctest.Wait()
		w.mu.Lock()
		before := w.changes
		w.mu.Unlock()
		w.host.Ensure("eks", Spec{Binary: "eks"})
		elapse(time.Hour)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.changes != before || before == 0 {
			t.Errorf("%d changes were told in an hour of health after %d at the start, want none: each is a write to the API", w.changes-before, before)
		}
	})
}

func TestAttached(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.Ensure("attached", Spec{})
		synctest.Wait()
		is := func(reason string, healthy bool) {
			t.Helper()
			synctest.Wait()
			if s, _ := w.host.State("attached"); s.Reason != reason || s.Healthy != healthy {
				t.Errorf("the state is %s (healthy: %v), want %s (%v)", s.Reason, s.Healthy, reason, healthy)
			}
		}
		is(ReasonAttached, true)
		first := w.last()
		first.setDeaf(true)
		elapse(10 * time.Minute)
		is(ReasonHung, false)
		if first.isGone() {
			t.Fatal("a plugin that somebody holds in a debugger was killed")
		}
		if _, err := callConnect(t, w.host.Provider("attached", "")); err != nil {
			t.Errorf("a call on it failed with %v; it may answer once the debugger goes on", err)
		}
		first.setDeaf(false)
		elapse(time.Minute)
		is(ReasonAttached, true)

		// Its author ends it, and starts it again.
		w.change(broken(plugin.ReasonStartFailed, "nobody listens"))
		first.end(errors.New("is gone"))
		is(string(plugin.ReasonStartFailed), false)
		w.change(func(Spec) (*fakeProcess, error) { return newFake(nil), nil })
		elapse(4 * time.Second)
		is(ReasonAttached, true)
		if first.kills != 0 || w.last().kills != 0 {
			t.Error("an attached plugin was killed")
		}
	})
}

// callConnect makes a call that a good plugin answers.
func callConnect(t *testing.T, p provider.Provider) (provider.Connection, error) {
	t.Helper()
	return p.Connect(t.Context(), provider.ConnectRequest{Endpoint: &provider.Endpoint{Server: "https://edge"}})
}
