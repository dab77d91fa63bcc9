// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// A stream takes one message at a time, from one goroutine at a time, and none once its handler has returned.
func TestReporterKeepsTheStreamsRules(t *testing.T) {
	var sending, sent atomic.Int64
	var last atomic.Pointer[pb.BuildResponse]
	r := &reporter{open: make(chan struct{}), send: func(m *pb.BuildResponse) error {
		if sending.Add(1) > 1 {
			t.Error("two messages were sent at the same time")
		}
		runtime.Gosched()
		last.Store(m)
		sent.Add(1)
		sending.Add(-1)
		return nil
	}}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				r.Report(provider.Event{Message: "made"})
			}
		})
	}
	if err := r.end(provider.BuildResult{}, nil); err != nil {
		t.Fatal(err)
	}
	atEnd := sent.Load()
	all.Wait()
	r.Report(provider.Event{Message: "late"})
	if got := sent.Load(); got != atEnd {
		t.Errorf("%d messages were sent after the end", got-atEnd)
	}
	if last.Load().GetEnd() == nil {
		t.Error("the end is not the last message")
	}
}
