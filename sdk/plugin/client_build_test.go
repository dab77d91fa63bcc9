// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

func TestEventsArriveInOrderFromAllGoroutines(t *testing.T) {
	const goroutines, each = 8, 500
	w := overWire(t, &scripted{build: func(_ context.Context, _ provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for i := range each {
					r.Report(provider.Event{Kind: provider.EventMessage, Address: fmt.Sprint(g), Message: fmt.Sprint(i)})
				}
			})
		}
		all.Wait()
		return provider.BuildResult{}, nil
	}})
	told := &events{}
	if _, err := w.provider().Build(t.Context(), provider.BuildRequest{}, told); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, e := range told.all {
		got[e.Address] = append(got[e.Address], e.Message)
	}
	want := map[string][]string{}
	for g := range goroutines {
		for i := range each {
			want[fmt.Sprint(g)] = append(want[fmt.Sprint(g)], fmt.Sprint(i))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events were dropped or came out of order (-want +got):\n%s", diff)
	}
}

// gate is a reporter that takes one event and then waits.
type gate struct {
	once    sync.Once
	open    chan struct{}
	arrived chan struct{}
	count   atomic.Int64
}

func (g *gate) Report(provider.Event) {
	g.once.Do(func() { close(g.arrived); <-g.open })
	g.count.Add(1)
}

// The plugin must not pile up in memory what the host does not fetch.
func TestSlowHostMakesTheAuthorWait(t *testing.T) {
	const many, size = 4096, 4 << 10 // 16 MiB, far more than any buffer of gRPC
	var sent atomic.Int64
	all := make(chan struct{})
	w := overWire(t, &scripted{build: func(_ context.Context, _ provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
		defer close(all)
		for range many {
			r.Report(provider.Event{Message: string(make([]byte, size))})
			sent.Add(1)
		}
		return provider.BuildResult{}, nil
	}})
	g, done := &gate{open: make(chan struct{}), arrived: make(chan struct{})}, make(chan error, 1)
	go func() { _, err := w.provider().Build(t.Context(), provider.BuildRequest{}, g); done <- err }()
	eventually(t, "the first event", g.arrived)
	// A call on the same connection still gets through, many times, while the build waits.
	for range 200 {
		if _, err := w.provider().Connect(t.Context(), provider.ConnectRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-all:
		t.Errorf("all %d events were taken from the author although the host took one", many)
	default:
	}
	close(g.open)
	if err := eventually(t, "the build's end", done); err != nil {
		t.Fatal(err)
	}
	if got := g.count.Load(); got != many || sent.Load() != many {
		t.Errorf("%d events of %d arrived", got, many)
	}
}

// Goroutines that an author forgot may report for ever; nobody must be hurt.
func TestLateReports(t *testing.T) {
	var kept atomic.Value
	w := overWire(t, &scripted{build: func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
		kept.Store(&r)
		if req.Action == provider.ActionPlan {
			<-ctx.Done()
		}
		return provider.BuildResult{PlanDigest: "d"}, nil
	}})
	report := func() { (*kept.Load().(*provider.Reporter)).Report(provider.Event{Message: "late"}) }
	told := &events{}
	if _, err := w.provider().Build(t.Context(), provider.BuildRequest{}, told); err != nil {
		t.Fatal(err)
	}
	report()
	if got := told.messages(); len(got) > 0 {
		t.Errorf("events after the end: %q", got)
	}

	kept = atomic.Value{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.provider().Build(ctx, provider.BuildRequest{Action: provider.ActionPlan}, told)
		done <- err
	}()
	for kept.Load() == nil {
		// The build has not begun yet.
		if _, err := w.provider().Sweep(t.Context(), provider.SweepRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := eventually(t, "the build's end", done); provider.KindOf(err) != provider.Unavailable {
		t.Errorf("a cancelled build: %v", err)
	}
	report()
}

// A host that does not want the events leaves the reporter out.
func TestBuildWithoutAReporter(t *testing.T) {
	w := overWire(t, &scripted{build: func(_ context.Context, _ provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
		r.Report(provider.Event{Message: "nobody listens"})
		return provider.BuildResult{PlanDigest: "d"}, nil
	}})
	got, err := w.provider().Build(t.Context(), provider.BuildRequest{}, nil)
	if err != nil || got.PlanDigest != "d" {
		t.Errorf("%v, %v", got, err)
	}
}

// raw answers the wire by hand.
type raw struct {
	pb.UnimplementedProviderServiceServer
	steps []*pb.BuildResponse
	err   error
	// hang keeps the stream open after the steps.
	hang bool
}

func (r *raw) Build(_ *pb.BuildRequest, stream grpc.ServerStreamingServer[pb.BuildResponse]) error {
	for _, step := range r.steps {
		if err := stream.Send(step); err != nil {
			return err
		}
	}
	if r.hang {
		<-stream.Context().Done()
	}
	return r.err
}

func (r *raw) Connect(context.Context, *pb.ConnectRequest) (*pb.ConnectResponse, error) {
	return &pb.ConnectResponse{}, nil
}
func (r *raw) Sweep(context.Context, *pb.SweepRequest) (*pb.SweepResponse, error) {
	return &pb.SweepResponse{}, nil
}
func (r *raw) Confirm(context.Context, *pb.ConfirmRequest) (*pb.ConfirmResponse, error) {
	return &pb.ConfirmResponse{}, nil
}
func (r *raw) Verify(context.Context, *pb.VerifyRequest) (*pb.VerifyResponse, error) {
	return &pb.VerifyResponse{}, nil
}
func (r *raw) Mint(context.Context, *pb.MintRequest) (*pb.MintResponse, error) {
	return &pb.MintResponse{}, nil
}

func TestBuildStreamsThatBreakTheContract(t *testing.T) {
	event := &pb.BuildResponse{Step: &pb.BuildResponse_Event{Event: &pb.Event{Message: "made"}}}
	end := &pb.BuildResponse{Step: &pb.BuildResponse_End{End: &pb.BuildEnd{Result: &pb.BuildResult{PlanDigest: "d"}}}}
	empty := &pb.BuildResponse{}
	const cut = "the build was cut off before it said how it ended; it is called again and goes on from what is there"
	const more = "the plugin broke the contract: it went on after the end of the build"
	for name, c := range map[string]struct {
		reason string
		raw    raw
		kind   provider.ErrorKind
		text   string
		digest string
	}{
		"an end":             {"this is how it is done", raw{steps: []*pb.BuildResponse{event, end}}, "", "", "d"},
		"no end":             {"nothing is known of how it went", raw{steps: []*pb.BuildResponse{event}}, provider.Unavailable, cut, ""},
		"nothing":            {"nothing is known of how it went", raw{}, provider.Unavailable, cut, ""},
		"two ends":           {"one of the two is wrong, and what was made is still told", raw{steps: []*pb.BuildResponse{end, end}}, provider.Other, more, "d"},
		"an event after":     {"an end is the last", raw{steps: []*pb.BuildResponse{end, event}}, provider.Other, more, "d"},
		"an unknown step":    {"a newer plugin may say more", raw{steps: []*pb.BuildResponse{empty, end, empty}}, "", "", "d"},
		"a status after end": {"the end stands; the plugin may have died right after", raw{steps: []*pb.BuildResponse{end}, err: status.Error(codes.Unavailable, "gone")}, "", "", "d"},
		"open after the end": {"the end stands, and the stream is left", raw{steps: []*pb.BuildResponse{end}, hang: true}, "", "", "d"},
		"a status before": {
			"a status without our detail is gRPC's own", raw{steps: []*pb.BuildResponse{event}, err: status.Error(codes.Unavailable, "gone")},
			provider.Unavailable, "the plugin can't be reached, or ended during the call", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := overWireRaw(t, &c.raw, nil)
			got, err := w.provider().Build(t.Context(), provider.BuildRequest{}, &events{})
			if provider.KindOf(err) != c.kind || (err != nil && typed(t, err).Message != c.text) {
				t.Errorf("%v, want %s %q: %s", err, c.kind, c.text, c.reason)
			}
			if got.PlanDigest != c.digest {
				t.Errorf("the result's digest is %q, want %q", got.PlanDigest, c.digest)
			}
		})
	}
}

// Empty findings would mean that all is gone.
func TestAnswersWithNothingInThemAreRefused(t *testing.T) {
	calls := verbs(overWireRaw(t, &raw{}, nil), t)
	for _, verb := range []string{"Connect", "Confirm", "Sweep", "Verify", "Mint"} {
		e := typed(t, calls[verb](t.Context()))
		if want := "the plugin broke the contract: it answered " + verb + " with nothing"; e.Kind != provider.Other || e.Message != want {
			t.Errorf("%s: %s: %s, want Other: %s", verb, e.Kind, e.Message, want)
		}
	}
}
