// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

const (
	// mostEvents are kept of the newest.
	mostEvents = 20
	// progressEvery is how often progress is written at most, logEvery the log with it, which is much larger.
	progressEvery = 2 * time.Second
	logEvery      = 15 * time.Second
	// largestRecord is how much a record may hold: 1 MiB less some for names.
	largestRecord = 1<<20 - 32<<10
)

// progress keeps the newest events and writes them into the record, now and then. What it writes is for people to watch, so a write that
// fails is simply followed by the next.
type progress struct {
	objects *objects
	out     *output
	clock   clock.WithTicker
	wake    chan struct{}

	mu      sync.Mutex
	events  []run.Event
	changed bool
}

func newProgress(o *objects, out *output, c clock.WithTicker) *progress {
	return &progress{objects: o, out: out, clock: c, wake: make(chan struct{}, 1)}
}

func (p *progress) note(e provider.Event) {
	p.mu.Lock()
	p.events = append(p.events, run.Event{Kind: e.Kind, At: e.Time, Message: e.Message})
	if over := len(p.events) - mostEvents; over > 0 {
		p.events = append([]run.Event(nil), p.events[over:]...)
	}
	p.changed = true
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *progress) newest() run.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = false
	return run.Progress{Events: append([]run.Event(nil), p.events...)}
}

func (p *progress) hasNews() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// loop writes until ctx ends.
func (p *progress) loop(ctx context.Context) {
	ticker := p.clock.NewTicker(progressEvery)
	defer ticker.Stop()
	var written, logged time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-ticker.C():
		}
		now := p.clock.Now()
		if now.Sub(written) < progressEvery {
			continue
		}
		withLog := now.Sub(logged) >= logEvery && p.out.news()
		if !p.hasNews() && !withLog {
			continue
		}
		written = now
		if withLog {
			logged = now
		}
		once, cancel := context.WithTimeout(ctx, tryTime)
		_ = p.write(once, withLog)
		cancel()
	}
}

func (p *progress) write(ctx context.Context, withLog bool) error {
	packed, err := run.Pack(p.newest())
	if err != nil {
		return err
	}
	return p.objects.changeConfigMap(ctx, p.objects.record, func(record *corev1.ConfigMap) error {
		record.BinaryData[run.KeyProgress] = packed
		if withLog {
			p.putLog(record)
		}
		return nil
	})
}

// putLog puts as much of the log in as there is room for.
func (p *progress) putLog(record *corev1.ConfigMap) {
	room := largestRecord
	for _, value := range record.BinaryData {
		room -= len(value)
	}
	record.Data[run.KeyLog] = p.out.log(room)
}
