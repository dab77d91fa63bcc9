// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// fakeProcess is a plugin without a process.
type fakeProcess struct {
	provider provider.Provider
	pid      int

	mu     sync.Mutex
	done   chan struct{}
	how    error
	ended  bool
	deaf   bool
	stops  int
	kills  int
	hold   chan struct{} // keeps Kill from returning
	mulish bool          // does not end when it is stopped, until ctx ends
}

// newFake runs that provider; nil: one that answers.
func newFake(p provider.Provider) *fakeProcess {
	if p == nil {
		p = answers{}
	}
	return &fakeProcess{provider: p, done: make(chan struct{})}
}

func newMulish(p provider.Provider, mulish bool) *fakeProcess {
	f := newFake(p)
	f.mulish = mulish
	return f
}

func (f *fakeProcess) Provider() provider.Provider { return f.provider }
func (f *fakeProcess) PID() int                    { return f.pid }
func (f *fakeProcess) Protocol() int               { return 1 }
func (f *fakeProcess) Done() <-chan struct{}       { return f.done }

func (f *fakeProcess) Description() provider.Description {
	return provider.Description{
		Facts:        provider.Facts{Name: "aws", Version: "v1.0.0"},
		Capabilities: provider.Capabilities(f.provider),
	}
}

func (f *fakeProcess) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.how
}

func (f *fakeProcess) Ping(ctx context.Context) error {
	f.mu.Lock()
	deaf := f.deaf
	f.mu.Unlock()
	if !deaf {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakeProcess) Stop(ctx context.Context) error {
	f.mu.Lock()
	f.stops++
	mulish := f.mulish
	f.mu.Unlock()
	if mulish {
		<-ctx.Done()
	}
	f.end(nil)
	return ctx.Err()
}

func (f *fakeProcess) Kill() {
	f.mu.Lock()
	f.kills++
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	f.end(errors.New("was killed by signal 9"))
}

// end has the process be gone.
func (f *fakeProcess) end(how error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.ended, f.how = true, how
	close(f.done)
}

// setDeaf has it answer pings no more, or again.
func (f *fakeProcess) setDeaf(deaf bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deaf = deaf
}

// letGo has Kill return.
func (f *fakeProcess) letGo() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hold != nil {
		close(f.hold)
		f.hold = nil
	}
}

func (f *fakeProcess) isGone() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// world starts fake processes, and remembers them.
type world struct {
	registry *prometheus.Registry
	host     *Host

	mu      sync.Mutex
	starts  []time.Time
	live    []*fakeProcess
	changes int
	// prepare makes the provider of the next process, or fails.
	prepare func(spec Spec) (*fakeProcess, error)
}

func (w *world) dial(_ context.Context, _ string, spec Spec) (process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.starts = append(w.starts, time.Now())
	p, err := w.prepare(spec)
	if err != nil {
		return nil, err
	}
	p.pid = 100 + len(w.starts)
	w.live = append(w.live, p)
	return p, nil
}

// last is the process that was started last.
func (w *world) last() *fakeProcess {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live[len(w.live)-1]
}

func (w *world) started() []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts
}

func (w *world) change(prepare func(Spec) (*fakeProcess, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.prepare = prepare
}

// in runs a test with a host whose time is the bubble's, and which has to be all gone at its end.
func in(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{registry: prometheus.NewRegistry()}
		w.prepare = func(Spec) (*fakeProcess, error) { return newFake(nil), nil }
		w.host = newHost(Options{Metrics: w.registry, Attach: map[string]plugin.Attachment{"attached": {}}, Changed: func(string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changes++
		}}, w.dial)
		defer func() {
			w.host.Close(t.Context())
			for _, p := range w.live {
				if !p.isGone() {
					t.Errorf("process %d is left after Close", p.pid)
				}
			}
		}()
		f(t, w)
	})
}

// elapse lets the bubble's time go by, which takes none of ours.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// state is the state of the plugin eks once nothing goes on any more.
func (w *world) state(t *testing.T) State {
	t.Helper()
	synctest.Wait()
	state, ok := w.host.State("eks")
	if !ok {
		t.Fatal("there is no plugin eks")
	}
	return state
}

// broken is a start that fails.
func broken(reason plugin.StartReason, message string) func(Spec) (*fakeProcess, error) {
	return func(Spec) (*fakeProcess, error) {
		return nil, &plugin.StartError{Reason: reason, Message: message}
	}
}

// serving is a start of a plugin with that provider.
func serving(p provider.Provider) func(Spec) (*fakeProcess, error) {
	return func(Spec) (*fakeProcess, error) { return newFake(p), nil }
}

// answers is a provider that keeps the contract.
type answers struct{ provider.Provider }

func (answers) Connect(_ context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	identity := provider.ClusterIdentity{KubeSystemUID: "0e6f4bbc-0e7c-4b0c-9d9a-7b4e2b1a0c11"}
	if req.Endpoint == nil {
		return provider.Connection{Endpoint: provider.Endpoint{Server: "https://made"}, Version: "v1.37.0", Identity: identity}, nil
	}
	return provider.Connection{Endpoint: *req.Endpoint, Version: "v1.37.0", Identity: identity}, nil
}

// blocks answers Connect once its channel is closed, or with its context's error.
type blocks struct {
	provider.Provider
	free    chan struct{}
	entered chan struct{}
}

func newBlocks() blocks {
	return blocks{free: make(chan struct{}), entered: make(chan struct{}, 100)}
}

func (b blocks) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	b.entered <- struct{}{}
	select {
	case <-b.free:
		return answers{}.Connect(ctx, req)
	case <-ctx.Done():
		return provider.Connection{}, &provider.Error{Kind: provider.Unavailable, Message: "the plugin did not answer in time", Err: ctx.Err()}
	}
}
