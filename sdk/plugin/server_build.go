// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// Build implements the wire. The stream's own context outlives the build's at a stop, so that what happens while the build
// winds down is still told.
func (s *Server) Build(req *pb.BuildRequest, stream grpc.ServerStreamingServer[pb.BuildResponse]) error {
	ctx, end, err := s.calls.begin(stream.Context(), "Build")
	if err != nil {
		return convert.ErrorToStatus(err)
	}
	defer end()
	r := &reporter{open: stream.Context().Done(), send: stream.Send}
	result, err := guard(s.log, "Build", func() (provider.BuildResult, error) {
		return s.provider.Build(ctx, convert.BuildRequestFromWire(req), r)
	})
	if stream.Context().Err() != nil && gaveUp(ctx, err) {
		return toStatus(ctx, err)
	}
	return r.end(result, inWords(ctx, err))
}

// reporter sends a build's events and its end.
type reporter struct {
	// open is closed when nobody listens any more.
	open <-chan struct{}
	send func(*pb.BuildResponse) error

	// mu keeps the events in the order of the calls to Report: a stream takes one message at a time.
	mu    sync.Mutex
	ended bool
}

// Report implements [provider.Reporter].
func (r *reporter) Report(e provider.Event) {
	m := &pb.BuildResponse{Step: &pb.BuildResponse_Event{Event: convert.EventToWire(e)}}
	if proto.Size(m) > MaxMessageBytes {
		m.Step = &pb.BuildResponse_Event{Event: convert.EventToWire(provider.Event{
			Kind: provider.EventWarning, Time: e.Time, Message: "an event that is larger than 16 MiB was left out",
		})}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	select {
	case <-r.open:
		return
	default:
	}
	// It can fail only because the stream is over, which the build's context tells its author.
	_ = r.send(m)
}

// end sends how the build went, and lets no event follow.
func (r *reporter) end(result provider.BuildResult, err error) error {
	m := &pb.BuildResponse{Step: &pb.BuildResponse_End{End: convert.BuildEndToWire(result, err)}}
	if proto.Size(m) > MaxMessageBytes {
		if err == nil {
			err = tooLarge("Build")
		}
		m.Step = &pb.BuildResponse_End{End: convert.BuildEndToWire(provider.BuildResult{}, err)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.send(m)
}
