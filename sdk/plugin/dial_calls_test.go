// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	pb "darkshift.io/infrared/sdk/protocol/v1"
)

func TestStdioIsOptional(t *testing.T) {
	for name, c := range map[string]struct {
		reason, method string
		fails          error
		want           codes.Code
	}{
		"the process is gone": {reason: "go-plugin forgets a connection on any other code", method: stdioMethod, fails: status.Error(codes.Canceled, "gone"), want: codes.Unavailable},
		"no such service":     {reason: "the same", method: stdioMethod, fails: status.Error(codes.Internal, "?"), want: codes.Unavailable},
		"it works":            {reason: "nothing to change", method: stdioMethod, want: codes.OK},
		"a build":             {reason: "its errors are its own", method: pb.ProviderService_Build_FullMethodName, fails: status.Error(codes.Canceled, "gone"), want: codes.Canceled},
	} {
		streamer := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, c.fails
		}
		if _, err := stdioIsOptional(t.Context(), nil, nil, c.method, streamer); status.Code(err) != c.want {
			t.Errorf("%s: %v, want %s: %s", name, err, c.want, c.reason)
		}
	}
}

func TestRunning(t *testing.T) {
	r := newRunning()
	begin := func(method string) context.Context {
		ctx := r.TagRPC(t.Context(), &stats.RPCTagInfo{FullMethodName: method})
		r.HandleRPC(ctx, &stats.Begin{})
		return ctx
	}
	ended, end := context.WithCancel(t.Context())
	end()
	idle := func() bool { return r.wait(ended) == nil }
	if !idle() {
		t.Error("calls run before the first")
	}
	stop := begin(pb.ProviderService_Stop_FullMethodName)
	begin(stdioMethod)
	if !idle() {
		t.Error("a stop must not wait for itself, nor for the stream of what is printed")
	}
	one, other := begin(pb.ProviderService_Sweep_FullMethodName), begin(pb.ProviderService_Build_FullMethodName)
	r.HandleRPC(stop, &stats.End{})
	for _, call := range []context.Context{one, other} {
		if idle() {
			t.Error("a call runs, and nobody would wait for it")
		}
		r.HandleRPC(call, &stats.InPayload{})
		r.HandleRPC(call, &stats.End{})
	}
	if err := r.wait(t.Context()); err != nil {
		t.Errorf("all calls have ended: %v", err)
	}
}
