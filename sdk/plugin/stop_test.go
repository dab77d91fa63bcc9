// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// A build that needs seconds to wind down must be able to say what it left behind.
func TestStopLetsABuildSayHowItEnded(t *testing.T) {
	began, ended, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	left := []provider.Resource{{Kind: "network", ID: "net-1"}}
	w := overWire(t, &scripted{build: func(ctx context.Context, _ provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
		r.Report(provider.Event{Message: "begun"})
		close(began)
		<-ctx.Done()
		close(ended)
		<-release
		for i := range 3 {
			r.Report(provider.Event{Message: fmt.Sprint("winding down ", i)})
		}
		return provider.BuildResult{LeftBehind: left}, provider.Errorf(provider.Unavailable, "interrupted")
	}})
	type end struct {
		result provider.BuildResult
		err    error
	}
	told, built, stopped := &events{}, make(chan end, 1), make(chan error, 1)
	go func() {
		result, err := w.provider().Build(t.Context(), provider.BuildRequest{}, told)
		built <- end{result, err}
	}()
	eventually(t, "the build's begin", began)
	go func() { stopped <- plugin.Stop(t.Context(), w.conn) }()
	eventually(t, "the end of the build's context", ended)
	select {
	case err := <-stopped:
		t.Fatalf("Stop returned while a build runs: %v", err)
	case got := <-built:
		t.Fatalf("the build's stream ended at the stop: %v", got.err)
	default:
	}
	_, err := w.provider().Sweep(t.Context(), provider.SweepRequest{})
	if e := typed(t, err); e.Kind != provider.Unavailable || e.Message != "the plugin is stopping" {
		t.Errorf("a call after the stop: %s: %s", e.Kind, e.Message)
	}
	close(release)
	if err := eventually(t, "the stop's end", stopped); err != nil {
		t.Errorf("Stop: %v", err)
	}
	got := eventually(t, "the build's end", built)
	if e := typed(t, got.err); e.Kind != provider.Unavailable || e.Message != "interrupted" {
		t.Errorf("the build's error: %s: %s", e.Kind, e.Message)
	}
	if diff := cmp.Diff(provider.BuildResult{LeftBehind: left}, got.result); diff != "" {
		t.Errorf("the result did not arrive (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"begun", "winding down 0", "winding down 1", "winding down 2"}, told.messages()); diff != "" {
		t.Errorf("what was reported while winding down did not arrive (-want +got):\n%s", diff)
	}
}

// Each verb sees its context end at a stop, and each answer arrives: of those who wind down, who answer all the same, who
// return the context's error, and who panic.
func TestStopEndsAllThatRuns(t *testing.T) {
	began := make(chan string, 7)
	w := overWire(t, everyVerb(func(ctx context.Context, verb string) error {
		began <- verb
		<-ctx.Done()
		switch verb {
		case "Connect":
			panic("at the stop")
		case "Sweep", "Mint":
			return fmt.Errorf("listing disks: %w", ctx.Err())
		case "Confirm":
			return provider.Errorf(provider.Denied, "no")
		default:
			return nil
		}
	}))
	type answer struct {
		verb string
		err  error
	}
	answers := make(chan answer, 7)
	for verb, call := range verbs(w, t) {
		go func() { answers <- answer{verb, call(t.Context())} }()
	}
	for range 7 {
		eventually(t, "the begin of all calls", began)
	}
	// Two who stop at the same time both wait.
	stopped := make(chan error, 2)
	for range 2 {
		go func() { stopped <- plugin.Stop(t.Context(), w.conn) }()
	}
	for range 2 {
		if err := eventually(t, "the stop's end", stopped); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
	got := map[string]string{}
	for range 7 {
		a := eventually(t, "all answers", answers)
		if a.err != nil {
			got[a.verb] = string(provider.KindOf(a.err)) + ": " + a.err.Error()
		}
	}
	want := map[string]string{
		"Connect": "Other: the provider crashed in Connect; its log has the stack",
		"Confirm": "Denied: no",
		"Sweep":   "Unavailable: the plugin is stopping",
		"Mint":    "Unavailable: the plugin is stopping",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answers of what was stopped (-want +got):\n%s", diff)
	}
	if err := plugin.Stop(t.Context(), w.conn); err != nil {
		t.Errorf("Stop of a plugin that has stopped: %v", err)
	}
	if _, err := plugin.Describe(t.Context(), w.conn); provider.KindOf(err) != provider.Unavailable {
		t.Errorf("a plugin that has stopped introduces itself: %v", err)
	}
}

// A verb that does not look at its context costs the host what it was ready to wait, and no more.
func TestStopDoesNotWaitForEver(t *testing.T) {
	began, release := make(chan struct{}, 2), make(chan struct{})
	w := overWire(t, everyVerb(func(_ context.Context, verb string) error {
		began <- struct{}{}
		<-release
		return nil
	}))
	done := make(chan error, 2)
	for _, verb := range []string{"Sweep", "Connect"} {
		go func() { done <- verbs(w, t)[verb](t.Context()) }()
		eventually(t, "the begin of "+verb, began)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := plugin.Stop(ctx, w.conn)
	if e := typed(t, err); e.Kind != provider.Unavailable {
		t.Errorf("a stop that was not done: %s: %s", e.Kind, e.Message)
	}
	close(release)
	for range 2 {
		if err := eventually(t, "the answers", done); err != nil {
			t.Errorf("the call that did not look at its context: %v", err)
		}
	}
	if err := plugin.Stop(t.Context(), w.conn); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

// Calls begin and stops come in any order, from all sides; run with -race.
func TestStopUnderLoad(t *testing.T) {
	for name, opts := range map[string][]plugin.Option{"once": nil, "with resumption": {plugin.Resume()}} {
		t.Run(name, func(t *testing.T) {
			w := overWire(t, everyVerb(func(ctx context.Context, _ string) error { return ctx.Err() }), opts...)
			failed := make(chan error, 40)
			for i := range 40 {
				go func() {
					if i%4 == 0 {
						failed <- plugin.Stop(t.Context(), w.conn)
						return
					}
					err := verbs(w, t)["Sweep"](t.Context())
					if err != nil && !strings.Contains(err.Error(), "the plugin is stopping") {
						failed <- err
						return
					}
					failed <- nil
				}()
			}
			for range 40 {
				if err := eventually(t, "all ends", failed); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A plugin in an author's debugger outlives the hosts that attach to it.
func TestResumeTakesCallsAfterAStop(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	w := overWire(t, &scripted{sweep: func(ctx context.Context, _ provider.SweepRequest) (provider.Findings, error) {
		began <- struct{}{}
		<-ctx.Done()
		<-release
		return provider.Findings{}, nil
	}}, plugin.Resume())
	swept, stopped := make(chan error, 1), make(chan error, 1)
	for round := range 2 {
		go func() { _, err := w.provider().Sweep(t.Context(), provider.SweepRequest{}); swept <- err }()
		eventually(t, "the begin of the call", began)
		go func() { stopped <- plugin.Stop(t.Context(), w.conn) }()
		refused := func() bool {
			_, err := w.provider().Connect(t.Context(), provider.ConnectRequest{})
			return err != nil
		}
		for deadline := time.Now().Add(patience); !refused(); {
			if time.Now().After(deadline) {
				t.Fatal("calls are taken during the stop")
			}
		}
		release <- struct{}{}
		if err := errors.Join(eventually(t, "the stop's end", stopped), eventually(t, "the call's end", swept)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if _, err := w.provider().Connect(t.Context(), provider.ConnectRequest{}); err != nil {
			t.Fatalf("round %d: after the stop: %v", round, err)
		}
	}
	// Nothing runs: the stop has nothing to do, and the next call is taken.
	if err := plugin.Stop(t.Context(), w.conn); err != nil {
		t.Fatal(err)
	}
	if _, err := w.provider().Connect(t.Context(), provider.ConnectRequest{}); err != nil {
		t.Errorf("after an idle stop: %v", err)
	}
}

func TestSupportedIsNewestFirst(t *testing.T) {
	got := plugin.Supported()
	if len(got) == 0 || len(got) > 2 {
		t.Fatalf("%v: the current version, and at most the one before", got)
	}
	sorted := slices.Clone(got)
	slices.SortFunc(sorted, func(a, b int) int { return b - a })
	if diff := cmp.Diff(sorted, got); diff != "" {
		t.Errorf("the newest version does not come first (-want +got):\n%s", diff)
	}
}
