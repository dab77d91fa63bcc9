// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"testing"
	"time"
)

// BenchmarkRegister500Against50 registers 50 clusters and 500, each number on a fresh management cluster by a fresh operator, and
// reports what a cluster costs the operator in time and memory, as the ratio of the two. A ratio of 1 means that a cluster costs the
// same however many there are.
func BenchmarkRegister500Against50(b *testing.B) {
	for b.Loop() {
		few, many := registerCost(b, 50), registerCost(b, 500)
		b.ReportMetric(many.seconds/few.seconds, "time-ratio")
		b.ReportMetric(many.resident/few.resident, "RSS-ratio")
		b.ReportMetric(many.heap/few.heap, "heap-ratio")
		b.ReportMetric(many.seconds*1000, "ms/cluster")
		b.ReportMetric(many.resident/1e3, "KB-RSS/cluster")
		b.ReportMetric(many.heap/1e3, "KB-heap/cluster")
		b.ReportMetric(0, "ns/op") // it means nothing here
	}
}

// cost is what one cluster costs: seconds of work, bytes kept.
type cost struct{ seconds, resident, heap float64 }

func registerCost(b *testing.B, n int) cost {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 15*time.Minute)
	defer cancel()
	w := newWorld(b)
	servers := w.startMany(b, n)
	operator := w.runMeasured(b)
	before := operator.settled(ctx, b)
	began := time.Now()
	if err := w.registerMany(ctx, "bench", servers); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	after := operator.settled(ctx, b)
	operator.kill()
	b.Logf("%d clusters in %s: before %v, after %v", n, took.Round(time.Millisecond), before, after)
	each := float64(n)
	return cost{
		seconds:  took.Seconds() / each,
		resident: (after.resident - before.resident) / each,
		heap:     (after.heap - before.heap) / each,
	}
}
