// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Verb names a verb, as faults and metrics do.
type Verb string

// The verbs.
const (
	VerbConnect  Verb = "Connect"
	VerbBuild    Verb = "Build"
	VerbSnapshot Verb = "Snapshot"
	VerbConfirm  Verb = "Confirm"
	VerbSweep    Verb = "Sweep"
	VerbVerify   Verb = "Verify"
	VerbMint     Verb = "Mint"
)

// Fault is what is wrong with one verb of the plugin. The zero value is nothing.
type Fault struct {
	// Err is returned, such as provider.Unavailablef(time.Minute, "…"); nil: the verb succeeds.
	Err error
	// Acts says that the verb does all that it should before Err is returned: the host hears of a failure and the cloud
	// has changed.
	Acts bool
	// Delay passes before the verb begins, or until ctx ends.
	Delay time.Duration
	// Hang lets the verb wait until ctx ends, and then return its error. Deaf lets it wait even longer: until it is mended.
	Hang, Deaf bool
	// Panic is what the verb panics with; empty: it does not.
	Panic string
	// Padding is how many bytes are added to the texts of the answer, to make it too large for a message.
	Padding int
	// Times is how many calls the fault strikes; 0: all of them.
	Times int
}

// Faults are what is wrong with a plugin, by verb.
type Faults map[Verb]Fault

// SetFaults replaces the faults; nil mends all, and wakes who hangs.
func (p *Provider) SetFaults(f Faults) { p.gate.set(f) }

// Calls counts how often a verb was called, faults included.
func (p *Provider) Calls(v Verb) int { return p.gate.count(v) }

// gate is what each call of a verb passes.
type gate struct {
	mu     sync.Mutex
	faults Faults
	struck map[Verb]int
	calls  map[Verb]int
	mended chan struct{}
}

func newGate() *gate {
	return &gate{struck: map[Verb]int{}, calls: map[Verb]int{}, mended: make(chan struct{})}
}

func (g *gate) set(f Faults) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = make(Faults, len(f))
	for v, fault := range f {
		g.faults[v] = fault
	}
	g.struck = map[Verb]int{}
	close(g.mended)
	g.mended = make(chan struct{})
}

func (g *gate) count(v Verb) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[v]
}

// next is the fault that strikes this call.
func (g *gate) next(v Verb) (Fault, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls[v]++
	fault := g.faults[v]
	if fault.Times > 0 && g.struck[v] >= fault.Times {
		return Fault{}, g.mended
	}
	g.struck[v]++
	return fault, g.mended
}

// pass runs a verb behind its fault. The padding goes to a text of the answer by pad.
func pass[Answer any](ctx context.Context, g *gate, v Verb, pad func(*Answer, string), run func() (Answer, error)) (Answer, error) {
	var none Answer
	fault, mended := g.next(v)
	if err := fault.hold(ctx, mended); err != nil {
		return none, err
	}
	if fault.Panic != "" {
		panic(fault.Panic)
	}
	if fault.Err != nil && !fault.Acts {
		return none, fault.Err
	}
	answer, err := run()
	if fault.Err != nil {
		return none, fault.Err
	}
	if fault.Padding > 0 {
		pad(&answer, strings.Repeat("x", fault.Padding))
	}
	return answer, err
}

// hold waits as the fault says.
func (f Fault) hold(ctx context.Context, mended <-chan struct{}) error {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return stopped()
		}
	}
	if f.Deaf {
		<-mended
		return nil
	}
	if f.Hang {
		select {
		case <-mended:
		case <-ctx.Done():
			return stopped()
		}
	}
	return nil
}
