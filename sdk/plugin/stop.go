// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"darkshift.io/infrared/sdk/provider"
)

// errStopping is why a call's context ended: the host asked to stop, and still waits for the answer.
var errStopping = errors.New("the plugin is stopping")

// stopping is the error of a call that comes too late, or that gave up because of a stop.
func stopping() error {
	return &provider.Error{Kind: provider.Unavailable, Message: errStopping.Error(), Err: errStopping}
}

// calls keeps account of what runs, so that all of it can be asked to wind down.
type calls struct {
	// resume says that calls are taken again once a stop is through.
	resume bool

	mu       sync.Mutex
	stopping bool
	next     int
	running  map[int]call
	// idle is closed while nothing runs.
	idle chan struct{}
}

type call struct {
	verb   string
	cancel context.CancelCauseFunc
}

func newCalls(resume bool) *calls {
	idle := make(chan struct{})
	close(idle)
	return &calls{resume: resume, running: map[int]call{}, idle: idle}
}

// begin takes a call on. Its context ends with ctx or at a stop; end must be called when it is over.
func (c *calls) begin(ctx context.Context, verb string) (callCtx context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return nil, nil, stopping()
	}
	if len(c.running) == 0 {
		c.idle = make(chan struct{})
	}
	callCtx, cancel := context.WithCancelCause(ctx)
	id := c.next
	c.next++
	c.running[id] = call{verb: verb, cancel: cancel}
	return callCtx, func() {
		cancel(nil)
		c.end(id)
	}, nil
}

func (c *calls) end(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
	if len(c.running) == 0 {
		close(c.idle)
		c.stopping = c.stopping && !c.resume
	}
}

// stop refuses new calls, ends the contexts of those that run, and waits until none does or ctx ends.
func (c *calls) stop(ctx context.Context) error {
	idle := c.ask()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return &provider.Error{
			Kind:    provider.Unavailable,
			Message: "does not stop: still running " + strings.Join(c.verbs(), ", "),
			Err:     ctx.Err(),
		}
	}
}

func (c *calls) ask() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = len(c.running) > 0 || !c.resume
	for _, one := range c.running {
		one.cancel(errStopping)
	}
	return c.idle
}

// verbs are those that run, each once, sorted.
func (c *calls) verbs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var verbs []string
	for _, one := range c.running {
		verbs = append(verbs, one.verb)
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}
