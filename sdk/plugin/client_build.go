// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// afterEnd is how long a plugin may take to close a build's stream once it has said how the build ended.
const afterEnd = 5 * time.Second

// Build implements [provider.Provider]. Events come to r in order, one at a time; a slow r makes the plugin wait.
func (c client) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.wire.Build(ctx, convert.BuildRequestToWire(req), limits()...)
	if err != nil {
		return provider.BuildResult{}, convert.ErrorFromStatus(err)
	}
	end, err := receiveEnd(stream, r)
	if err != nil {
		return provider.BuildResult{}, convert.ErrorFromStatus(err)
	}
	result, err := convert.BuildEndFromWire(end)
	if end == nil {
		return result, err
	}
	// The end stands, whatever becomes of the stream. Only a plugin that says more has to be looked at twice.
	late := time.AfterFunc(afterEnd, cancel)
	defer late.Stop()
	if more, moreErr := stream.Recv(); moreErr == nil && more.GetStep() != nil {
		return result, provider.Errorf(provider.Other, "the plugin broke the contract: it went on after the end of the build")
	}
	return result, err
}

// receiveEnd hands the events to r until the end comes. Nil without an error is a stream that closed without one.
func receiveEnd(stream grpc.ServerStreamingClient[pb.BuildResponse], r provider.Reporter) (*pb.BuildEnd, error) {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if end := m.GetEnd(); end != nil {
			return end, nil
		}
		// A step that this side does not know is neither.
		if event := m.GetEvent(); event != nil && r != nil {
			r.Report(convert.EventFromWire(event))
		}
	}
}
