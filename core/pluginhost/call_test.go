// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// fails answers every Connect with that error.
type fails struct {
	provider.Provider
	err error
}

func (f fails) Connect(context.Context, provider.ConnectRequest) (provider.Connection, error) {
	return provider.Connection{}, f.err
}

// broke is the error of a connection that broke, as the SDK's client gives it.
func broke() error {
	return convert.ErrorFromStatus(status.Error(codes.Unavailable, "dial unix /tmp/ir-plugin-123/s: connection refused"))
}

func TestErrorsOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		start  func(Spec) (*fakeProcess, error)
		kind   provider.ErrorKind
		text   string
		after  time.Duration
		took   time.Duration
		is     error
		own    bool // the error is what the plugin said
	}{
		"the plugin's own": {
			reason: "what the plugin says goes to the caller as it is",
			start:  serving(fails{err: provider.Invalidf("variables.region", "no such region")}),
			kind:   provider.Invalid, text: "variables.region: no such region", own: true,
		},
		"throttled": {
			reason: "the time to wait is the cloud's",
			start:  serving(fails{err: provider.Unavailablef(7*time.Second, "throttled")}),
			kind:   provider.Unavailable, text: "throttled", after: 7 * time.Second, own: true,
		},
		"hangs": {
			reason: "a verb that never answers has a deadline",
			start:  hangs, took: time.Minute,
			kind: provider.Unavailable, text: `plugin "eks" did not answer Connect within 1m`, is: context.DeadlineExceeded,
		},
		"dies during the call": {
			reason: "the caller hears how it ended",
			start: func(Spec) (*fakeProcess, error) {
				p := newFake(nil)
				p.provider = dies{process: p}
				return p, nil
			},
			took: endTime / 2,
			kind: provider.Unavailable, text: `plugin "eks" ended during Connect: it exited with code 2: out of luck`,
		},
		"the connection breaks alone": {
			reason: "gRPC's own words, with sockets in them, are not passed on", took: endTime,
			start: serving(fails{err: broke()}),
			kind:  provider.Unavailable, text: `calling Connect of plugin "eks": the plugin can't be reached, or ended during the call`,
		},
		"too large": {
			reason: "gRPC's other errors name the plugin too",
			start:  serving(fails{err: convert.ErrorFromStatus(status.Error(codes.ResourceExhausted, "received message larger than max"))}),
			kind:   provider.Other, text: `calling Connect of plugin "eks": the plugin's answer, or what it was asked, is larger than 16 MiB`,
		},
		"breaks the contract": {
			reason: "the breach is named",
			start:  serving(fails{}),
			kind:   provider.Other, text: `plugin "eks" broke the contract in Connect: the connection has no server`,
		},
		"does not start": {
			reason: "the caller waits for the next start, which fails too, and hears why and when to ask again",
			start:  broken(plugin.ReasonChecksumMismatch, "the checksums did not match"), took: 1450 * time.Millisecond,
			kind: provider.Unavailable, text: `plugin "eks" is not running (ChecksumMismatch): the checksums did not match`, after: 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.host.random = func() float64 { return 0.9 }
				w.change(c.start)
				w.host.Ensure("eks", Spec{Binary: "eks"})
				began := time.Now()
				_, err := callConnect(t, w.host.Provider("eks", ""))
				var typed *provider.Error
				if !errors.As(err, &typed) {
					t.Fatalf("the error is %T, want *provider.Error always", err)
				}
				if typed.Kind != c.kind || err.Error() != c.text || typed.After != c.after {
					t.Errorf("got %s after %v: %s\nwant %s after %v: %s\n%s", typed.Kind, typed.After, err, c.kind, c.after, c.text, c.reason)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, want %v: %s", took, c.took, c.reason)
				}
				if own := !errors.Is(err, ErrUnusable); own != c.own {
					t.Errorf("taken for the plugin's own words: %v, want %v: what the host says tells nothing about the cloud", own, c.own)
				}
				if c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("%v is not %v", err, c.is)
				}
			})
		})
	}
}

// hangs starts a plugin that never answers. Its channels are made in the bubble.
func hangs(Spec) (*fakeProcess, error) { return newFake(newBlocks()), nil }

// dies ends its process in the call.
type dies struct {
	provider.Provider
	process *fakeProcess
}

func (d dies) Connect(context.Context, provider.ConnectRequest) (provider.Connection, error) {
	time.AfterFunc(endTime/2, func() { d.process.end(errors.New("exited with code 2: out of luck")) })
	return provider.Connection{}, broke()
}

func TestCallWaitsForAStart(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.change(broken(plugin.ReasonCrashedAtStart, "exited with code 1"))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		synctest.Wait()
		w.change(serving(answers{}))
		if _, err := callConnect(t, w.host.Provider("eks", "")); err != nil {
			t.Errorf("a call made a second before the next start gives %v, want an answer", err)
		}
	})
}

func TestCallDoesNotWaitInVain(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.random = func() float64 { return 0 }
		w.change(broken(plugin.ReasonCrashedAtStart, "exited with code 1"))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		elapse(5 * time.Minute)
		began := time.Now()
		_, err := callConnect(t, w.host.Provider("eks", ""))
		var typed *provider.Error
		if !errors.As(err, &typed) || typed.After < 3*time.Second || time.Since(began) != 0 {
			t.Errorf("with the next start far off a call gives %v after %v, want an error at once that says when to ask again", err, time.Since(began))
		}
	})
}

func TestCallerGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		start  func(Spec) (*fakeProcess, error)
		text   string
	}{
		"in the call": {
			reason: "it is not the plugin's fault", start: hangs,
			text: `the call of Connect on plugin "eks" was given up: the caller's time was over`,
		},
		"before it": {
			reason: "waiting for a start ends with the caller", start: broken(plugin.ReasonSilent, "says nothing"),
			text: `waiting for plugin "eks" to start: context deadline exceeded`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.host.random = func() float64 { return 0.9 }
				w.change(c.start)
				w.host.Ensure("eks", Spec{Binary: "eks"})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := w.host.Provider("eks", "").Connect(ctx, provider.ConnectRequest{})
				if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, provider.Unavailable) || err.Error() != c.text {
					t.Errorf("got %v, want Unavailable, with the caller's deadline in it: %s", err, c.reason)
				}
			})
		})
	}
}

// accounted has accounts as well.
type accounted struct{ answers }

func (accounted) Verify(context.Context, provider.Account) (provider.Identity, error) {
	return provider.Identity{Account: "123456789012"}, nil
}

func (accounted) Mint(context.Context, provider.Account, provider.MintRequest) (provider.Credentials, error) {
	return provider.Credentials{Values: map[string]provider.Secret{"TOKEN": provider.NewSecret("x")}}, nil
}

func TestAccounts(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		if _, ok := w.host.Provider("eks", "").(provider.Accounts); !ok {
			t.Error("a plugin that nothing is known of has no accounts; nobody could wait for it")
		}
		before := w.host.Provider("eks", "")
		w.host.Ensure("eks", Spec{Binary: "eks"})
		synctest.Wait()
		if _, ok := w.host.Provider("eks", "").(provider.Accounts); ok {
			t.Error("a plugin that declares no accounts has some")
		}
		_, err := before.(provider.Accounts).Verify(t.Context(), provider.Account{})
		if !errors.Is(err, provider.Unsupported) || err.Error() != `plugin "eks" does not have Verify` {
			t.Errorf("Verify of a plugin without accounts gives %v, want Unsupported", err)
		}
		_, err = before.(provider.Accounts).Mint(t.Context(), provider.Account{}, provider.MintRequest{})
		if !errors.Is(err, provider.Unsupported) {
			t.Errorf("Mint of a plugin without accounts gives %v, want Unsupported", err)
		}

		w.change(serving(accounted{}))
		w.host.Ensure("eks", Spec{Binary: "eks", SHA256: "2"})
		synctest.Wait()
		accounts, ok := w.host.Provider("eks", "").(provider.Accounts)
		if !ok {
			t.Fatal("a plugin that declares accounts has none")
		}
		if identity, err := accounts.Verify(t.Context(), provider.Account{}); err != nil || identity.Account == "" {
			t.Errorf("Verify gives %+v, %v", identity, err)
		}
		if c, err := accounts.Mint(t.Context(), provider.Account{}, provider.MintRequest{}); err != nil || c.IsZero() {
			t.Errorf("Mint gives %v, %v", c, err)
		}
	})
}

// builds ends a build with a result and an error.
type builds struct{ answers }

func (builds) Build(_ context.Context, _ provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	r.Report(provider.Event{Kind: provider.EventDone, Message: "made one"})
	return provider.BuildResult{LeftBehind: []provider.Resource{{ID: "vol-1"}}}, provider.Errorf(provider.Quota, "no more disks: %w", io.EOF)
}

type reports []string

func (r *reports) Report(e provider.Event) { *r = append(*r, e.Message) }

func TestBuildKeepsItsResult(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.change(serving(builds{}))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		var events reports
		result, err := w.host.Provider("eks", "").Build(t.Context(), provider.BuildRequest{}, &events)
		if !errors.Is(err, provider.Quota) || len(result.LeftBehind) != 1 || len(events) != 1 {
			t.Errorf("a build that failed gives %+v, %v and events %v, want all that it made", result, err, events)
		}
	})
}

func TestMetrics(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.host.Ensure("eks", Spec{Binary: "eks"})
		for range 3 {
			if _, err := callConnect(t, w.host.Provider("eks", "")); err != nil {
				t.Fatal(err)
			}
		}
		w.change(serving(fails{err: provider.Errorf(provider.Denied, "no")}))
		w.last().end(errors.New("exited with code 1"))
		synctest.Wait()
		if _, err := callConnect(t, w.host.Provider("eks", "")); err == nil {
			t.Fatal("no error")
		}
		w.change(broken(plugin.ReasonBinaryMissing, "gone"))
		w.host.Ensure("gke", Spec{Binary: "gke"})
		synctest.Wait()
		want := map[string]float64{
			"infrared_provider_calls_total kind=denied provider=eks verb=Connect": 1,
			"infrared_provider_calls_total kind=ok provider=eks verb=Connect":     3,
			"infrared_provider_call_seconds provider=eks verb=Connect":            4,
			"infrared_provider_healthy provider=eks":                              1,
			"infrared_provider_healthy provider=gke":                              0,
			"infrared_provider_restarts_total provider=eks":                       1,
		}
		if diff := cmp.Diff(want, w.gather(t)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		w.host.Remove("gke")
		delete(want, "infrared_provider_healthy provider=gke")
		if diff := cmp.Diff(want, w.gather(t)); diff != "" {
			t.Errorf("after one of two was removed (-want +got):\n%s", diff)
		}
		// A second host of the same program counts on.
		again := newHost(Options{Metrics: w.registry}, w.dial)
		again.metrics.observe("eks", verbConnect, nil, time.Second)
		again.Close(t.Context())
		if got := w.gather(t)["infrared_provider_calls_total kind=ok provider=eks verb=Connect"]; got != 4 {
			t.Errorf("two hosts on one registry counted %v calls, want 4", got)
		}
	})
}

// gather returns the value of each metric, of a histogram how many it counted.
func (w *world) gather(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := family.GetName()
			for _, label := range m.GetLabel() {
				key += " " + label.GetName() + "=" + label.GetValue()
			}
			values[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestDeadlines(t *testing.T) {
	want := map[verb]string{
		verbConnect: "1m", verbVerify: "1m", verbMint: "1m", verbSnapshot: "2m", verbConfirm: "5m", verbSweep: "10m", verbBuild: "12h",
	}
	got := map[verb]string{}
	for v := range want {
		got[v] = short(v.deadline())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deadlines (-want +got):\n%s", diff)
	}
}
