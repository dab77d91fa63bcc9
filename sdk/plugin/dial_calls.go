// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	pb "darkshift.io/infrared/sdk/protocol/v1"
)

// dialOptions are what every connection to a plugin has.
func dialOptions(r *running) []grpc.DialOption {
	return []grpc.DialOption{
		// go-plugin lets messages have any size.
		grpc.WithDefaultCallOptions(limits()...),
		// A connection that idled out would have to be made again, and of an attached plugin it is the sign of life.
		grpc.WithIdleTimeout(0),
		grpc.WithStatsHandler(r),
		grpc.WithChainStreamInterceptor(stdioIsOptional),
	}
}

// stdioMethod is how go-plugin's client asks for what the plugin prints.
const stdioMethod = "/plugin.GRPCStdio/StreamStdio"

// stdioIsOptional makes every failure to begin that stream one which go-plugin can live without. With any other it would return
// an error and forget the connection, and a plugin that dies as it starts would leak one each time.
func stdioIsOptional(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil && method == stdioMethod {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return stream, err
}

// running counts the calls of verbs whose answer is not here yet.
type running struct {
	mu    sync.Mutex
	calls int
	idle  chan struct{} // closed while there are none
}

func newRunning() *running {
	idle := make(chan struct{})
	close(idle)
	return &running{idle: idle}
}

// wait returns when there are none, or ctx ends.
func (r *running) wait(ctx context.Context) error {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the last answers: %w", context.Cause(ctx))
	}
}

func (r *running) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.calls
	r.calls += n
	switch {
	case before == 0:
		r.idle = make(chan struct{})
	case r.calls == 0:
		close(r.idle)
	}
}

// counted is the key of a call that counts.
type counted struct{}

// TagRPC implements stats.Handler.
func (r *running) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if !strings.HasPrefix(info.FullMethodName, "/"+pb.ProviderService_ServiceDesc.ServiceName+"/") || info.FullMethodName == pb.ProviderService_Stop_FullMethodName {
		return ctx
	}
	return context.WithValue(ctx, counted{}, true)
}

// HandleRPC implements stats.Handler.
func (r *running) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if ctx.Value(counted{}) == nil {
		return
	}
	switch s.(type) {
	case *stats.Begin:
		r.add(1)
	case *stats.End:
		r.add(-1)
	}
}

// TagConn implements stats.Handler.
func (r *running) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (r *running) HandleConn(context.Context, stats.ConnStats) {}
