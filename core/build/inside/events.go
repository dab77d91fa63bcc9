// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"sync/atomic"

	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// events takes what a build reports: what was made goes into the ledger, everything into the progress.
type events struct {
	red      redactor
	out      *output
	ledger   *ledger
	progress *progress
	order    *run.Order // nil: what is there is not by this run's order, as it only plans or destroys
	changes  atomic.Bool
}

var _ provider.Reporter = (*events)(nil)

// Report implements provider.Reporter.
func (e *events) Report(event provider.Event) {
	event.Message = e.red.text(event.Message)
	if event.Resource != nil {
		resource := e.red.resource(*event.Resource)
		event.Resource = &resource
	}
	switch event.Kind {
	case provider.EventStarted, provider.EventDone, provider.EventFailed:
		e.changes.Store(true)
		if e.order != nil && event.Operation != provider.OperationRead {
			e.ledger.goBy(e.order)
		}
	case provider.EventMessage, provider.EventWarning:
		e.out.say(event.Message)
	case provider.EventPlanned:
		// These, and changes, are in OpenTofu's own output.
	}
	e.ledger.note(event)
	e.progress.note(event)
}

// began says whether anything was begun outside since reset.
func (e *events) began() bool { return e.changes.Load() }

func (e *events) reset() { e.changes.Store(false) }
