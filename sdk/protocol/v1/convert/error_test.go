// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// plugin answers Sweep and Build as a test wants, over real gRPC. It does not know the other calls.
type plugin struct {
	pb.UnimplementedProviderServiceServer

	sweep func(context.Context) (*pb.SweepResponse, error)
	build func(grpc.ServerStreamingServer[pb.BuildResponse]) error
}

func (p *plugin) Sweep(ctx context.Context, _ *pb.SweepRequest) (*pb.SweepResponse, error) {
	return p.sweep(ctx)
}

func (p *plugin) Build(_ *pb.BuildRequest, stream grpc.ServerStreamingServer[pb.BuildResponse]) error {
	return p.build(stream)
}

// serve gives a client of p, and p's server.
func serve(t *testing.T, p *plugin) (pb.ProviderServiceClient, *grpc.Server) {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	pb.RegisterProviderServiceServer(server, p)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return pb.NewProviderServiceClient(conn), server
}

func TestErrorsOverGRPC(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   provider.Error
	}{
		"a field": {
			reason: "the field arrives on its own, and once in the text",
			err:    provider.Invalidf("variables.region", "there is no such region"),
			want:   provider.Error{Kind: provider.Invalid, Field: "variables.region", Message: "there is no such region"},
		},
		"a wrapped field": {
			reason: "wrapping keeps the field out of the middle of the text",
			err:    fmt.Errorf("planning %q: %w", "edge", provider.Invalidf("variables.region", "there is no such region")),
			want:   provider.Error{Kind: provider.Invalid, Field: "variables.region", Message: `planning "edge": there is no such region`},
		},
		"a throttle": {
			reason: "the wait travels with its kind",
			err:    provider.Unavailablef(90*time.Second, "the cloud throttles this account"),
			want:   provider.Error{Kind: provider.Unavailable, After: 90 * time.Second, Message: "the cloud throttles this account"},
		},
		"a wait in the past": {
			reason: "there is no waiting backwards",
			err:    provider.Unavailablef(-time.Hour, "later"),
			want:   provider.Error{Kind: provider.Unavailable, Message: "later"},
		},
		"not UTF-8": {
			reason: "one bad byte from a cloud costs a letter, not the message",
			err:    provider.Errorf(provider.Other, "the cloud said \xff"),
			want:   provider.Error{Kind: provider.Other, Message: "the cloud said \uFFFD"},
		},
		"very long": {
			reason: "a text of a megabyte would not fit the header",
			err:    provider.Errorf(provider.Other, "%s", strings.Repeat("ü", 1<<20)),
			want:   provider.Error{Kind: provider.Other, Message: strings.Repeat("ü", 4<<10) + "…"},
		},
		"a cloud's own gRPC status": {
			reason: "the code that a cloud gave is not the plugin's verdict, until its author says so",
			err:    status.Error(codes.PermissionDenied, "no"),
			want:   provider.Error{Kind: provider.Other, Message: "rpc error: code = PermissionDenied desc = no"},
		},
		"a kind that is none": {
			reason: "there are eight",
			err:    provider.Errorf("Throttled", "slow down"),
			want:   provider.Error{Kind: provider.Other, Message: "slow down"},
		},
	}
	for _, row := range provider.Kinds() {
		cases["kind "+string(row.Kind)] = struct {
			reason string
			err    error
			want   provider.Error
		}{"each kind arrives as itself", provider.Errorf(row.Kind, "so it is"), provider.Error{Kind: row.Kind, Message: "so it is"}}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, &plugin{sweep: func(context.Context) (*pb.SweepResponse, error) { return nil, convert.ErrorToStatus(c.err) }})
			_, err := client.Sweep(t.Context(), &pb.SweepRequest{})
			if got, want := status.Code(err), codes.Code(provider.KindOf(c.err).Row().Code); got != want {
				t.Errorf("the code is %s, want %s of the table", got, want)
			}
			var got *provider.Error
			if !errors.As(convert.ErrorFromStatus(err), &got) {
				t.Fatalf("%v is no provider.Error", err)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// What gRPC says by itself tells nothing of the cloud, and names nothing that changes from call to call.
func TestErrorsOfTheTransport(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	client, server := serve(t, &plugin{sweep: func(context.Context) (*pb.SweepResponse, error) {
		// The plugin sees its deadline at the same moment as the host, and must not be the first to speak of it here.
		<-over
		return &pb.SweepResponse{}, nil
	}})
	check := func(what string, err error, kind provider.ErrorKind, cause error) {
		t.Helper()
		err = convert.ErrorFromStatus(err)
		if got := provider.KindOf(err); got != kind || cause != nil && !errors.Is(err, cause) {
			t.Errorf("%s: %v is %s, want %s and %v", what, err, got, kind, cause)
		}
		if strings.Contains(err.Error(), "rpc error") || strings.Contains(err.Error(), "desc =") {
			t.Errorf("%s says %q, which is gRPC's text", what, err)
		}
	}
	_, err := client.Confirm(t.Context(), &pb.ConfirmRequest{})
	check("a call that the plugin does not know", err, provider.Unsupported, nil)

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = client.Sweep(ctx, &pb.SweepRequest{})
	check("a call out of time", err, provider.Unavailable, context.DeadlineExceeded)

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = client.Sweep(ctx, &pb.SweepRequest{})
	check("a call that was cancelled", err, provider.Unavailable, context.Canceled)

	server.Stop()
	_, err = client.Sweep(t.Context(), &pb.SweepRequest{})
	check("a plugin that is gone", err, provider.Unavailable, nil)

	for code, kind := range map[codes.Code]provider.ErrorKind{
		codes.ResourceExhausted: provider.Other, codes.Internal: provider.Other, codes.PermissionDenied: provider.Other,
		codes.Unauthenticated: provider.Other,
	} {
		check("a bare "+code.String(), status.Error(code, "x"), kind, nil)
	}
}

func TestNoErrorStaysNone(t *testing.T) {
	if convert.ErrorToStatus(nil) != nil || convert.ErrorFromStatus(nil) != nil {
		t.Error("nil became an error")
	}
	if got := convert.ErrorFromStatus(io.EOF); provider.KindOf(got) != provider.Other || !errors.Is(got, io.EOF) {
		t.Errorf("an error that is no status became %v", got)
	}
}

// A kind from a newer plugin has a code that this side knows.
func TestErrorOfUnknownKind(t *testing.T) {
	s, err := status.New(codes.ResourceExhausted, "full").WithDetails(&pb.Error{Kind: 99, Message: "full"})
	if err != nil {
		t.Fatal(err)
	}
	if got := provider.KindOf(convert.ErrorFromStatus(s.Err())); got != provider.Quota {
		t.Errorf("kind 99 with the code of Quota is %s, want Quota", got)
	}
	if _, err := convert.BuildEndFromWire(&pb.BuildEnd{Error: &pb.Error{Kind: 99}}); provider.KindOf(err) != provider.Other {
		t.Errorf("kind 99 at the end of a build is %v, want Other", err)
	}
}

// A build's stream has events and one end, which carries the result also where it failed.
func TestBuildStream(t *testing.T) {
	event := provider.Event{Kind: provider.EventDone, Address: "aws_vpc.this", Resource: &provider.Resource{Kind: "network", ID: "vpc-1"}}
	result := provider.BuildResult{LeftBehind: []provider.Resource{*event.Resource}}
	failure := provider.Errorf(provider.Quota, "there are no more addresses")
	for name, c := range map[string]struct {
		reason string
		end    *pb.BuildEnd
		want   provider.BuildResult
		err    error
	}{
		"well":   {reason: "no error is none", end: convert.BuildEndToWire(result, nil), want: result},
		"failed": {reason: "what was made is known in spite of the failure", end: convert.BuildEndToWire(result, failure), want: result, err: provider.Quota},
		"cut":    {reason: "a stream without an end tells nothing", err: provider.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := serve(t, &plugin{build: func(stream grpc.ServerStreamingServer[pb.BuildResponse]) error {
				if err := stream.Send(&pb.BuildResponse{Step: &pb.BuildResponse_Event{Event: convert.EventToWire(event)}}); err != nil || c.end == nil {
					return err
				}
				return stream.Send(&pb.BuildResponse{Step: &pb.BuildResponse_End{End: c.end}})
			}})
			stream, err := client.Build(t.Context(), &pb.BuildRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var events []provider.Event
			var end *pb.BuildEnd
			for {
				m, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if m.GetEvent() != nil {
					events = append(events, convert.EventFromWire(m.GetEvent()))
				}
				end = m.GetEnd()
			}
			got, err := convert.BuildEndFromWire(end)
			if diff := cmp.Diff([]provider.Event{event}, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if (err == nil) != (c.err == nil) || err != nil && !errors.Is(err, c.err) {
				t.Errorf("the error is %v, want %v: %s", err, c.err, c.reason)
			}
		})
	}
}
