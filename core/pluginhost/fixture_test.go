// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/internal/testplugin"
	"darkshift.io/infrared/sdk/provider"
)

// patience is how long a test waits for what has to happen. It is only used up where it does not.
const patience = 60 * time.Second

// fixture is a host with real plugins.
type fixture struct {
	folder testplugin.Folder
	host   *pluginhost.Host
	// sockets is the folder for the plugins' sockets.
	sockets string
	log     *lines
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newFixture starts a host. At the test's end it is closed, and nothing of it may be left.
func newFixture(t testing.TB, o pluginhost.Options) *fixture {
	t.Helper()
	f := &fixture{folder: testplugin.Build(t), log: &lines{}}
	sockets, err := os.MkdirTemp("", "ir-test-") //nolint:usetesting // a socket's path is short, and a test's own folder may be too long
	if err != nil {
		t.Fatal(err)
	}
	f.sockets = sockets
	o.Folder, o.SocketFolder = f.folder.Path, sockets
	o.Log = funcr.New(func(prefix, args string) {
		f.log.mu.Lock()
		defer f.log.mu.Unlock()
		fmt.Fprintln(&f.log.text, prefix, args)
	}, funcr.Options{Verbosity: 10})
	f.host = pluginhost.New(o)
	t.Cleanup(func() {
		f.close(t)
		if left, err := filepath.Glob(filepath.Join(sockets, "*")); err != nil || len(left) > 0 {
			t.Errorf("sockets are left after Close: %v, %v", left, err)
		}
		_ = os.RemoveAll(sockets)
		if left := processesOf(t, f.folder.Path); len(left) > 0 {
			t.Errorf("processes are left after Close: %v", left)
		}
		if t.Failed() {
			t.Log(f.log)
		}
	})
	return f
}

func (f *fixture) close(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f.host.Close(ctx)
}

// run has a test plugin run under its own name, and returns it.
func (f *fixture) run(t testing.TB, name string) provider.Provider {
	t.Helper()
	_, sum := f.folder.Add(t, name)
	f.host.Ensure(name, pluginhost.Spec{Binary: name, SHA256: sum})
	return f.host.Provider(name, "")
}

// healthy runs a test plugin and waits until it is healthy.
func (f *fixture) healthy(t testing.TB, name string) (provider.Provider, pluginhost.State) {
	t.Helper()
	p := f.run(t, name)
	return p, f.until(t, name, func(s pluginhost.State) bool { return s.Healthy })
}

// until waits for a state.
func (f *fixture) until(t testing.TB, name string, is func(pluginhost.State) bool) pluginhost.State {
	t.Helper()
	var state pluginhost.State
	if !eventually(func() bool {
		state, _ = f.host.State(name)
		return is(state)
	}) {
		t.Fatalf("plugin %s stays at %+v", name, state)
	}
	return state
}

// eventually waits until something holds, and says whether it does.
func eventually(holds func() bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return holds()
		}
	}
}

// isGone says that there is no process of that ID, not even a dead one.
func isGone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// processesOf are the IDs of the processes whose program is in a folder.
func processesOf(t testing.TB, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range paths {
		// One that has just ended has none.
		if line, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(line), folder+"/") {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}

// usage is what this process holds.
type usage struct{ goroutines, files int }

func measure(t testing.TB) usage {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return usage{goroutines: runtime.NumGoroutine(), files: len(files)}
}

// verbs are calls of all verbs, as a test plugin names them.
func verbs() map[string]func(context.Context, provider.Provider, provider.Credentials) error {
	type p = provider.Provider
	type c = provider.Credentials
	return map[string]func(context.Context, p, c) error{
		"connect": callConnect,
		"build": func(ctx context.Context, p p, c c) error {
			_, err := p.Build(ctx, provider.BuildRequest{Credentials: c}, nobody{})
			return err
		},
		"snapshot": func(ctx context.Context, p p, c c) error {
			_, err := p.Snapshot(ctx, provider.SnapshotRequest{Credentials: c})
			return err
		},
		"confirm": func(ctx context.Context, p p, c c) error {
			_, err := p.Confirm(ctx, provider.ConfirmRequest{Credentials: c})
			return err
		},
		"sweep": func(ctx context.Context, p p, c c) error {
			_, err := p.Sweep(ctx, provider.SweepRequest{Credentials: c})
			return err
		},
		"verify": func(ctx context.Context, p p, c c) error {
			_, err := p.(provider.Accounts).Verify(ctx, provider.Account{ID: "1", Stored: c})
			return err
		},
		"mint": func(ctx context.Context, p p, c c) error {
			_, err := p.(provider.Accounts).Mint(ctx, provider.Account{ID: "1", Stored: c}, provider.MintRequest{})
			return err
		},
	}
}

// nobody takes events and forgets them.
type nobody struct{}

func (nobody) Report(provider.Event) {}

func callConnect(ctx context.Context, p provider.Provider, c provider.Credentials) error {
	_, err := p.Connect(ctx, provider.ConnectRequest{
		Cluster:  provider.Cluster{Name: "edge", Incarnation: "0e6f4bbc-0e7c-4b0c-9d9a-7b4e2b1a0c11"},
		Endpoint: &provider.Endpoint{Server: "https://edge:6443"}, Credentials: c,
	})
	return err
}

// values makes credentials of names and values.
func values(pairs ...string) provider.Credentials {
	c := provider.Credentials{Values: map[string]provider.Secret{}}
	for i := 0; i < len(pairs); i += 2 {
		c.Values[pairs[i]] = provider.NewSecret(pairs[i+1])
	}
	return c
}

// marks are the lines that a test plugin left in a file.
func marks(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// fastClock goes faster by a factor, so that a test waits less.
type fastClock struct {
	clock.RealClock
	by time.Duration
}

func (c fastClock) NewTimer(d time.Duration) clock.Timer   { return c.RealClock.NewTimer(d / c.by) }
func (c fastClock) NewTicker(d time.Duration) clock.Ticker { return c.RealClock.NewTicker(d / c.by) }
