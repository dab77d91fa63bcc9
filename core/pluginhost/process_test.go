// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

func TestCrashInEveryVerb(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	for verb, call := range verbs() {
		t.Run(verb, func(t *testing.T) {
			name := "crash-" + verb
			p, before := f.healthy(t, name)
			mark := filepath.Join(t.TempDir(), "mark")
			c := values("MARK", mark, "TOKEN", "S3CR3T")
			err := call(t.Context(), p, c)
			title := strings.ToUpper(verb[:1]) + verb[1:]
			want := fmt.Sprintf("plugin %q ended during %s: it exited with code 3", name, title)
			if verb == "build" {
				want += "; to go on, start the run again" // nobody else calls that again
			}
			if !errors.Is(err, provider.Unavailable) || err.Error() != want {
				t.Errorf("got %v, want Unavailable: %s", err, want)
			}
			if err := call(t.Context(), p, c); err != nil {
				t.Errorf("the next call gives %v, want an answer", err)
			}
			if got, want := marks(t, mark), verb+"\n"+verb+"\n"; got != want {
				t.Errorf("it acted as %q, want %q: once before the crash, and again", got, want)
			}
			if after, _ := f.host.State(name); !after.Healthy || after.PID == before.PID || after.Restarts != 1 {
				t.Errorf("the state is %+v, want a second process", after)
			}
			if !isGone(before.PID) {
				t.Error("the crashed process is left on the system's table")
			}
		})
	}
	if strings.Contains(f.log.String(), "S3CR3T") {
		t.Error("a credential is in the log")
	}
}

func TestHangInEveryVerb(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	for verb, call := range verbs() {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			p, before := f.healthy(t, "hang-"+verb)
			mark := filepath.Join(t.TempDir(), "mark")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := call(ctx, p, values("MARK", mark))
			ended := time.Now()
			if !errors.Is(err, provider.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want Unavailable, because the time was over", err)
			}
			if !eventually(func() bool { return strings.Contains(marks(t, mark), verb+" ended\n") }) || time.Since(ended) > 2*time.Second {
				t.Errorf("the plugin's context had not ended %v after the caller's", time.Since(ended))
			}
			if err := call(t.Context(), p, values("MARK", mark)); err != nil {
				t.Errorf("the next call gives %v, want an answer", err)
			}
			if after, _ := f.host.State("hang-" + verb); after.PID != before.PID {
				t.Error("the plugin was started again, though it answers")
			}
		})
	}
}

func TestKillUnderLoad(t *testing.T) {
	const callers, kills = 20, 8
	first := measure(t)
	f := newFixture(t, pluginhost.Options{Clock: fastClock{by: 20}})
	// Compiling the test plugins and the first start leave things that stay, such as the runtime's own.
	p, _ := f.healthy(t, "slow")
	var over atomic.Bool
	var answered, failed atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			// Every caller ends with an answer that it was given after the last kill.
			for last := false; !last; {
				last = over.Load()
				for {
					err := callConnect(t.Context(), p, values("WAIT", "20ms"))
					if err == nil {
						answered.Add(1)
						break
					}
					failed.Add(1)
					if !errors.Is(err, provider.Unavailable) {
						t.Errorf("a caller met %v, want nothing but Unavailable", err)
						return
					}
					<-time.After(10 * time.Millisecond)
				}
			}
		})
	}
	killed := map[int]bool{}
	for range kills {
		before := answered.Load()
		s := f.until(t, "slow", func(s pluginhost.State) bool { return s.Healthy && !killed[s.PID] })
		if !eventually(func() bool { return answered.Load() > before }) {
			t.Error("nobody gets an answer")
		}
		killed[s.PID] = true
		if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	over.Store(true)
	group.Wait()
	state := f.until(t, "slow", func(s pluginhost.State) bool { return s.Healthy })
	if state.Restarts != kills {
		t.Errorf("%d restarts after %d kills", state.Restarts, kills)
	}
	t.Logf("%d calls answered, %d failed as Unavailable and were made again", answered.Load(), failed.Load())
	f.close(t)
	killed[state.PID] = true
	for pid := range killed {
		if !isGone(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	var now usage
	if !eventually(func() bool {
		now = measure(t)
		return now.goroutines <= first.goroutines && now.files <= first.files
	}) {
		t.Errorf("before there were %+v, afterwards there are %+v", first, now)
	}
}

func TestStoppedPluginIsHung(t *testing.T) {
	f := newFixture(t, pluginhost.Options{Clock: fastClock{by: 20}})
	p, before := f.healthy(t, "good")
	if err := syscall.Kill(before.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- callConnect(t.Context(), p, provider.Credentials{}) }()
	after := f.until(t, "good", func(s pluginhost.State) bool { return s.Healthy && s.PID != before.PID })
	if err := <-result; !errors.Is(err, provider.Unavailable) {
		t.Errorf("the call on the stopped process gives %v, want Unavailable once it was killed", err)
	}
	if !isGone(before.PID) || after.Restarts != 1 {
		t.Errorf("the stopped process: gone %v, restarts %d", isGone(before.PID), after.Restarts)
	}
	if err := callConnect(t.Context(), p, provider.Credentials{}); err != nil {
		t.Errorf("the next call gives %v, want an answer", err)
	}
}

func TestPanicIsAnError(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	p, before := f.healthy(t, "panics-connect")
	for range 2 {
		if err := callConnect(t.Context(), p, provider.Credentials{}); !errors.Is(err, provider.Other) || !strings.Contains(err.Error(), "crashed in Connect") {
			t.Errorf("got %v, want Other that says where it crashed", err)
		}
	}
	if _, err := p.Sweep(t.Context(), provider.SweepRequest{}); err != nil {
		t.Errorf("another verb gives %v, want an answer", err)
	}
	if after, _ := f.host.State("panics-connect"); after.PID != before.PID {
		t.Error("a panic in a verb ended the process")
	}
	if !eventually(func() bool { return strings.Contains(f.log.String(), "panic") }) {
		t.Error("the stack is not in the log")
	}
}

func TestReasonsInWords(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		want   string
		says   string
	}{
		"prints-first":  {reason: "its first line is quoted", want: "PrintsFirst", says: "hello from init"},
		"forged":        {reason: "a socket elsewhere is not its own", want: "ForgedHandshake", says: "socket"},
		"exits":         {reason: "its last words are quoted", want: "CrashedAtStart", says: "no region"},
		"wrong-version": {reason: "both numbers are told", want: "VersionMismatch", says: "2"},
		"bad-facts":     {reason: "the field is named", want: "FactsInvalid", says: "name"},
		"late-exit":     {reason: "it is not ready before it has told who it is", want: "CrashedAtStart", says: "code 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, pluginhost.Options{})
			good, _ := f.healthy(t, "good")
			p := f.run(t, name)
			s := f.until(t, name, func(s pluginhost.State) bool { return s.Reason != pluginhost.ReasonStarting })
			if s.Reason != c.want || !strings.Contains(s.Message, c.says) || s.Healthy || s.PID != 0 {
				t.Errorf("the state is %+v, want %s with %q: %s", s, c.want, c.says, c.reason)
			}
			err := callConnect(t.Context(), p, provider.Credentials{})
			if !errors.Is(err, provider.Unavailable) || !strings.Contains(err.Error(), fmt.Sprintf("plugin %q is not running (%s)", name, c.want)) {
				t.Errorf("a call gives %v, want Unavailable with the plugin and the reason", err)
			}
			if err := callConnect(t.Context(), good, provider.Credentials{}); err != nil {
				t.Errorf("another plugin suffers: %v", err)
			}
		})
	}
}

func TestBrokenContractIsRefused(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	p, s := f.healthy(t, "two-versions")
	if s.Protocol != 1 {
		t.Errorf("protocol %d is spoken, want 1, the one in common", s.Protocol)
	}
	err := callConnect(t.Context(), p, provider.Credentials{})
	if want := `plugin "two-versions" broke the contract in Connect: the connection has no server`; !errors.Is(err, provider.Other) || err.Error() != want {
		t.Errorf("got %v, want Other: %s", err, want)
	}
	if _, ok := p.(provider.Accounts); !ok {
		t.Error("it was asked for before it was known, and has no accounts")
	}
	if _, ok := f.host.Provider("two-versions", "").(provider.Accounts); ok {
		t.Error("a plugin that declared no accounts has some")
	}
}

func TestManyResources(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	p, _ := f.healthy(t, "many")
	found, err := p.Sweep(t.Context(), provider.SweepRequest{})
	if err != nil || len(found.Present) != 40_000 {
		t.Fatalf("Sweep finds %d, %v, want 40,000", len(found.Present), err)
	}
	var recorded []provider.Resource
	for _, finding := range found.Present {
		recorded = append(recorded, finding.Resource)
	}
	found, err = p.Confirm(t.Context(), provider.ConfirmRequest{Recorded: recorded})
	if err != nil || len(found.Present) != 40_000 {
		t.Errorf("Confirm answers for %d, %v, want 40,000", len(found.Present), err)
	}
}

// rewrite puts a file in another's place, as an upgrade does.
func rewrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path+".new", 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestChecksumChangesWhileItRuns(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	p, before := f.healthy(t, "good")
	path := filepath.Join(f.folder.Path, "good")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	rewrite(t, path, []byte("#!/bin/sh\ntouch "+ran+"\n"))
	if err := callConnect(t.Context(), p, provider.Credentials{}); err != nil {
		t.Errorf("the process that runs is not that file any more, and gives %v", err)
	}
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.until(t, "good", func(s pluginhost.State) bool { return s.Reason == "ChecksumMismatch" && !s.Healthy })
	if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file with another checksum was run: %v", err)
	}
	rewrite(t, path, good)
	f.until(t, "good", func(s pluginhost.State) bool { return s.Healthy })
	if err := callConnect(t.Context(), p, provider.Credentials{}); err != nil {
		t.Errorf("with the right file back a call gives %v", err)
	}
}
