// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

const (
	// largestLedger is how much of it fits into a ConfigMap, compressed.
	largestLedger = 1<<20 - 64<<10
	// mostMade bounds what a plugin that reports without end costs.
	mostMade = 20_000
)

// ledger is what outlives the runs. What a run made is noted without waiting and written at once by a goroutine of its own; what comes
// during a write goes with the next.
type ledger struct {
	objects *objects
	wake    chan struct{}

	mu      sync.Mutex
	current run.Ledger
}

// openLedger writes down that this run is at work, and returns the ledger with what it said before. changes says that the run may make or
// take away something: should nobody be left to tell how it ended, the ledger says already that somebody has to look.
func openLedger(ctx context.Context, o *objects, changes bool) (l *ledger, before run.Ledger, err error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	tried := false
	err = o.changeConfigMap(ctx, o.names.Ledger(), func(object *corev1.ConfigMap) error {
		now := run.Ledger{}
		if err := run.Unpack(object.BinaryData[run.KeyLedger], &now); err != nil {
			return err
		}
		// Ours already: the answer to the first try got lost, and what it said before that counts.
		if !tried || now.Running != o.record {
			before = now
		}
		tried = true
		next := now
		next.Running, next.Unsettled = o.record, now.Unsettled || changes
		packed, err := packLedger(next)
		object.BinaryData[run.KeyLedger] = packed
		return err
	})
	if err != nil {
		return nil, run.Ledger{}, fmt.Errorf("writing into the ledger, ConfigMap %s, that a run begins: %w", o.names.Ledger(), err)
	}
	l = &ledger{objects: o, wake: make(chan struct{}, 1), current: before}
	l.current.Running, l.current.Unsettled = o.record, before.Unsettled || changes
	return l, before, nil
}

func (l *ledger) snapshot() run.Ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current // whoever changes a list in it makes a new one
}

func (l *ledger) change(how func(*run.Ledger)) {
	l.mu.Lock()
	how(&l.current)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// note takes in what an event says was made, or is gone.
func (l *ledger) note(e provider.Event) {
	if e.Kind != provider.EventDone || e.Resource == nil || e.Resource.ID == "" || e.Operation == provider.OperationRead {
		return
	}
	resource := *e.Resource
	same := func(r provider.Resource) bool { return r.ID == resource.ID && r.Kind == resource.Kind }
	l.change(func(current *run.Ledger) {
		made := slices.DeleteFunc(slices.Clone(current.Made), same)
		if e.Operation == provider.OperationDelete {
			current.LeftBehind = slices.DeleteFunc(slices.Clone(current.LeftBehind), same)
		} else if len(made) < mostMade {
			made = append(made, resource)
		}
		current.Made = made
	})
}

// goBy notes the order of an apply that changes something: what is there from now on is by that order.
func (l *ledger) goBy(order *run.Order) {
	if l.snapshot().Order != order {
		l.change(func(current *run.Ledger) { current.Order = order })
	}
}

// loop writes whatever is new until ctx ends.
func (l *ledger) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		// A failure that waiting does not mend is told by the last write, at the end.
		_ = l.write(ctx)
	}
}

// write returns when all that was noted before it is written.
func (l *ledger) write(ctx context.Context) error {
	packed, err := packLedger(l.snapshot())
	if err != nil {
		return err
	}
	err = l.objects.changeConfigMap(ctx, l.objects.names.Ledger(), func(object *corev1.ConfigMap) error {
		object.BinaryData[run.KeyLedger] = packed
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing the ledger, ConfigMap %s: %w", l.objects.names.Ledger(), err)
	}
	return nil
}

// packLedger leaves out, where all does not fit, what the newest outcome says as well.
func packLedger(l run.Ledger) ([]byte, error) {
	packed, err := run.Pack(l)
	if err == nil && len(packed) > largestLedger && l.Applied != nil {
		applied := *l.Applied
		applied.Resources = nil
		l.Applied = &applied
		packed, err = run.Pack(l)
	}
	if err == nil && len(packed) > largestLedger {
		l.LeftBehind = nil
		packed, err = run.Pack(l)
	}
	if err == nil && len(packed) > largestLedger {
		return nil, fmt.Errorf("the ledger has %d things and does not fit into a ConfigMap", len(l.Made))
	}
	return packed, err
}
