// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// calls makes a call of Connect that goes on beside the test.
func calls(t *testing.T, w *world) <-chan error {
	t.Helper()
	result := make(chan error, 1)
	p := w.host.Provider("eks", "")
	go func() {
		_, err := callConnect(t, p)
		result <- err
	}()
	synctest.Wait()
	return result
}

func TestReplaceDrains(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		old := newBlocks()
		w.change(serving(old))
		w.host.Ensure("eks", Spec{Binary: "eks", SHA256: "1"})
		running := calls(t, w)
		before := w.last()

		w.change(serving(answers{}))
		w.host.Ensure("eks", Spec{Binary: "eks", SHA256: "2"})
		synctest.Wait()
		if w.last() == before || w.state(t).PID != w.last().pid {
			t.Fatal("the new binary does not run while the old one's call goes on")
		}
		if _, err := callConnect(t, w.host.Provider("eks", "")); err != nil {
			t.Errorf("a new call failed with %v, want an answer of the new process", err)
		}
		elapse(verbConnect.deadline() - time.Second)
		if before.isGone() {
			t.Fatal("the old process ended before its call did")
		}
		close(old.free)
		if err := <-running; err != nil {
			t.Errorf("the running call ended with %v, want its answer", err)
		}
		synctest.Wait()
		if !before.isGone() || before.kills != 0 || before.stops != 1 {
			t.Errorf("the old process: gone %v, killed %d, stopped %d times, want it stopped once", before.isGone(), before.kills, before.stops)
		}
	})
}

func TestDrainIsBounded(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.change(serving(stubborn{newBlocks()}))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		running := calls(t, w)
		p := w.last()
		w.host.Remove("eks")
		elapse(drainTime + stopTime + time.Second)
		if !p.isGone() {
			t.Error("a call that never ends keeps its plugin for ever")
		}
		p.provider.(stubborn).release()
		if err := <-running; !errors.Is(err, provider.Other) {
			t.Errorf("the call that did not heed its context ended with %v, want what it said at last", err)
		}
	})
}

func TestRemove(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		old := newBlocks()
		w.change(serving(old))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		running := calls(t, w)
		p := w.host.Provider("eks", "")
		w.host.Remove("eks")
		if _, ok := w.host.State("eks"); ok {
			t.Error("a plugin that was removed has a state")
		}
		if _, err := callConnect(t, p); !errors.Is(err, provider.Unavailable) {
			t.Errorf("a call on a removed plugin gives %v, want Unavailable", err)
		}
		close(old.free)
		if err := <-running; err != nil {
			t.Errorf("the running call ended with %v, want its answer", err)
		}
		synctest.Wait()
		if !w.last().isGone() {
			t.Error("the process of a removed plugin is left")
		}
		w.host.Remove("eks")

		w.change(serving(answers{}))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		if _, err := callConnect(t, p); err != nil {
			t.Errorf("a call on a plugin that came back gives %v", err)
		}
	})
}

func TestClose(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		mulish  bool
		within  time.Duration
		atLeast time.Duration
	}{
		"stops in order": {reason: "running calls wind down by Stop, without waiting for their ends", within: 0},
		"killed in time": {reason: "a plugin that does not stop is killed before the time is over", mulish: true, within: 10 * time.Second, atLeast: 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				b := newBlocks()
				w.change(func(Spec) (*fakeProcess, error) { return newMulish(b, c.mulish), nil })
				w.host.Ensure("eks", Spec{Binary: "eks"})
				running := calls(t, w)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				w.host.Close(ctx)
				if took := time.Since(began); took > c.within || took < c.atLeast {
					t.Errorf("it took %v, want %v to %v: %s", took, c.atLeast, c.within, c.reason)
				}
				if !w.last().isGone() {
					t.Error("Close returned while a plugin runs")
				}
				if s := w.state(t); s.Reason != ReasonStopped || s.Healthy || s.PID != 0 {
					t.Errorf("the state after Close is %+v, want Stopped", s)
				}
				if _, err := callConnect(t, w.host.Provider("eks", "")); !errors.Is(err, provider.Unavailable) {
					t.Errorf("a call after Close gives %v, want Unavailable", err)
				}
				w.host.Ensure("gke", Spec{Binary: "gke"})
				if _, ok := w.host.State("gke"); ok {
					t.Error("a plugin was taken on after Close")
				}
				close(b.free)
				if err := <-running; err != nil {
					t.Errorf("the call that ran ended with %v", err)
				}
			})
		})
	}
}

func TestCloseWhileStarting(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.dial = func(ctx context.Context, _ string, _ Spec) (process, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		w.host.Ensure("eks", Spec{Binary: "eks"})
		synctest.Wait()
		began := time.Now()
		w.host.Close(t.Context())
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %v, want it to give up the start at once", took)
		}
	})
}

// stubborn does not heed its context.
type stubborn struct{ blocks }

func (s stubborn) Connect(_ context.Context, _ provider.ConnectRequest) (provider.Connection, error) {
	<-s.free
	return provider.Connection{}, provider.Errorf(provider.Other, "at last")
}

func (s stubborn) release() { close(s.free) }

func TestRemoveWhileStarting(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		// A start that is nearly over when the plugin is removed ends well.
		free := make(chan struct{})
		w.host.dial = func(ctx context.Context, name string, spec Spec) (process, error) {
			<-free
			return w.dial(ctx, name, spec)
		}
		w.host.Ensure("eks", Spec{Binary: "eks"})
		synctest.Wait()
		w.host.Remove("eks")
		close(free)
		synctest.Wait()
		if p := w.last(); !p.isGone() || p.stops != 1 {
			t.Errorf("the process that nobody wants any more: gone %v, stopped %d times", p.isGone(), p.stops)
		}
		if left := w.gather(t); len(left) != 0 {
			t.Errorf("a plugin that was removed has metrics: %v", left)
		}
		if w.changes != 0 {
			t.Errorf("%d changes were told of a plugin that was removed", w.changes)
		}
	})
}

func TestReplaceIsSeamless(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.Ensure("eks", Spec{Binary: "eks"})
		p := w.host.Provider("eks", "")
		over := make(chan struct{})
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for {
					if _, err := callConnect(t, p); err != nil {
						t.Errorf("a call while the binary changes gives %v, want an answer of one or the other", err)
						return
					}
					select {
					case <-over:
						return
					default:
					}
				}
			})
		}
		for i := range 500 {
			w.host.Ensure("eks", Spec{Binary: "eks", SHA256: strconv.Itoa(i)})
			runtime.Gosched()
		}
		close(over)
		callers.Wait()
	})
}
