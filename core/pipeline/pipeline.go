// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pipeline moves a list of steps on, one small move at a time, in a way that survives a crash anywhere.
//
// The caller keeps the record of the steps in an object's status, calls Advance once a reconcile, and writes the record
// back before it calls again. Entering a step does nothing but write down that it began, so that its time-out counts over
// restarts. Running one looks at the world before it acts: losing the whole record costs time and never correctness.
//
// Nothing that has work to do is skipped by itself. A step that takes too long is Stuck and one that was refused is Failed, and both go on trying;
// only a person's Force moves past them, and then the step's Abandon says what may be left behind.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// Step is one step of a pipeline that works on an S. A step is a value: it remembers nothing.
type Step[S any] struct {
	// Name is stored in status; it is never changed, and never used again for another step.
	Name string
	// Timeout is how long the step may run before it is Stuck. Zero: it never is.
	Timeout time.Duration
	// Skip says why the step does not apply, or "" when it does. Optional.
	Skip func(S) string
	// Ready says what a person has to do first, or "" when nothing. Optional.
	Ready func(S) string
	// Run does the work or goes on with it. It may be called any number of times, also after it was Done.
	Run func(context.Context, S) (Outcome, error)
	// Abandon lists what forcing the step may leave behind. A step without it can't be forced.
	Abandon func(context.Context, S) ([]v1alpha1.Leftover, error)
}

// Outcome is what one call of Run came to.
type Outcome struct {
	// Done is true when nothing is left to do.
	Done bool
	// Skipped is true of a Done where it turned out that there was nothing to do in the first place.
	Skipped bool
	// OnYou is true where a person has to do something first, which Message says.
	OnYou bool
	// Left are the things that the step leaves behind, as far as they are known now.
	Left []v1alpha1.Leftover
	// Message says what was done, or what is waited for. It has no times in it, so that it does not change by itself.
	Message string
	// Cause is whom the step waits for.
	Cause v1alpha1.Cause
	// After is when to look again; the caller may look earlier.
	After time.Duration
}

// Done ends a step.
func Done(message string) Outcome { return Outcome{Done: true, Message: message} }

// Skipped ends a step that turned out to be none, and says why.
func Skipped(why string) Outcome { return Outcome{Done: true, Skipped: true, Message: why} }

// Ask keeps a step waiting for a person, and says what to do.
func Ask(after time.Duration, what string) Outcome {
	return Outcome{OnYou: true, After: after, Cause: v1alpha1.CauseYou, Message: what}
}

// Wait keeps a step running.
func Wait(after time.Duration, cause v1alpha1.Cause, message string) Outcome {
	return Outcome{After: after, Cause: cause, Message: message}
}

// RefusedError marks a step as Failed: whoever was asked said no, and asking the same again will not help.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns what was refused.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refused wraps err so that its step is Failed.
func Refused(err error) error { return &RefusedError{Err: err} }

// Force is a person's word that a step be moved on.
type Force struct {
	// Step to force.
	Step string
	// By is the user who said so.
	By string
}

// Result is what Advance did.
type Result struct {
	// Finished is true when every step has ended.
	Finished bool
	// After is when to call again.
	After time.Duration
	// ForceRefused says why a Force was not followed, or "".
	ForceRefused string
}

// retry is how soon a step that failed by an ordinary error, or was refused, is tried again. Both grow no further: a person is
// told by the state, and a wait by watch usually comes first.
const (
	retryError   = 10 * time.Second
	retryRefused = 2 * time.Minute
)

// Pipeline is the steps in order.
type Pipeline[S any] []Step[S]

// Advance makes one move: it enters, runs, ends or forces the first step that has not ended, and writes it into record.
// Steps are matched by name, so that a newer version may insert steps, and records of unknown steps are kept.
func (p Pipeline[S]) Advance(ctx context.Context, scope S, record *[]v1alpha1.StepStatus, now time.Time, force *Force) Result {
	for i := range p {
		step := &p[i]
		status := find(*record, step.Name)
		if status == nil {
			return p.refusing(force, step.Name, p.enter(step, scope, record, now))
		}
		if Ended(status.State) {
			continue
		}
		return p.move(ctx, step, scope, status, now, force)
	}
	return p.refusing(force, "", Result{Finished: true})
}

// Current is the record of the step that the pipeline is on, or nil before the first and after the last.
func (p Pipeline[S]) Current(record []v1alpha1.StepStatus) *v1alpha1.StepStatus {
	for i := range p {
		if status := find(record, p[i].Name); status != nil && !Ended(status.State) {
			return status
		}
	}
	return nil
}

// Ended reports whether a step in this state is over.
func Ended(state v1alpha1.StepState) bool {
	return state == v1alpha1.StepDone || state == v1alpha1.StepSkipped || state == v1alpha1.StepForced
}

func (p Pipeline[S]) enter(step *Step[S], scope S, record *[]v1alpha1.StepStatus, now time.Time) Result {
	entered := v1alpha1.StepStatus{Name: step.Name, State: v1alpha1.StepRunning, StartedAt: v1alpha1.Seconds(now)}
	if step.Skip != nil {
		if why := step.Skip(scope); why != "" {
			entered.State, entered.Message, entered.EndedAt = v1alpha1.StepSkipped, why, v1alpha1.Seconds(now)
		}
	}
	*record = append(*record, entered)
	return Result{After: time.Nanosecond}
}

func (p Pipeline[S]) move(ctx context.Context, step *Step[S], scope S, status *v1alpha1.StepStatus, now time.Time, force *Force) Result {
	if force != nil && force.Step == step.Name && forcible(status.State) && step.Abandon != nil {
		step.abandon(ctx, scope, status, now, force)
		return Result{After: time.Nanosecond}
	}
	if step.Ready != nil {
		if what := step.Ready(scope); what != "" {
			set(status, v1alpha1.StepWaitingOnYou, v1alpha1.CauseYou, what)
			return p.refusing(force, step.Name, Result{After: time.Minute})
		}
	}
	out, err := step.Run(ctx, scope)
	return p.refusing(force, step.Name, step.settle(status, out, err, now))
}

// settle writes what Run came to.
func (s *Step[S]) settle(status *v1alpha1.StepStatus, out Outcome, err error, now time.Time) Result {
	status.LeftBehind = out.Left
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		set(status, v1alpha1.StepFailed, out.Cause, err.Error())
		return Result{After: retryRefused}
	case err != nil:
		out.Message, out.After = err.Error(), retryError
	case out.Done:
		set(status, v1alpha1.StepDone, "", out.Message)
		if out.Skipped {
			status.State = v1alpha1.StepSkipped
		}
		status.EndedAt = v1alpha1.Seconds(now)
		return Result{After: time.Nanosecond}
	}
	state, left := v1alpha1.StepRunning, time.Duration(0)
	if s.Timeout > 0 && status.StartedAt != nil {
		left = status.StartedAt.Add(s.Timeout).Sub(now)
		if left < 0 {
			state = v1alpha1.StepStuck
		}
	}
	if out.OnYou {
		// It does not take too long: nobody has begun.
		set(status, v1alpha1.StepWaitingOnYou, v1alpha1.CauseYou, out.Message)
		return Result{After: out.After}
	}
	set(status, state, out.Cause, out.Message)
	if left >= 0 && s.Timeout > 0 {
		// A second later than the time-out: at exactly fifteen minutes the step is not Stuck yet.
		out.After = min(out.After, left+time.Second)
	}
	return Result{After: out.After}
}

func (s *Step[S]) abandon(ctx context.Context, scope S, status *v1alpha1.StepStatus, now time.Time, force *Force) {
	left, err := s.Abandon(ctx, scope)
	if err != nil {
		left = append(left, v1alpha1.Leftover{Kind: "Unknown", ID: s.Name, Why: "what is left could not be listed: " + err.Error()})
	}
	set(status, v1alpha1.StepForced, "", "moved on by "+force.By+"; before that: "+status.Message)
	status.EndedAt, status.ForcedBy, status.LeftBehind = v1alpha1.Seconds(now), force.By, left
}

// refusing adds to result why force was not followed, where on is the step the pipeline is on.
func (p Pipeline[S]) refusing(force *Force, on string, result Result) Result {
	if force == nil {
		return result
	}
	switch {
	case on == "":
		result.ForceRefused = "no step is left to force"
	case force.Step != on:
		result.ForceRefused = fmt.Sprintf("the step now is %s, not %s", on, force.Step)
	default:
		result.ForceRefused = fmt.Sprintf("step %s is neither Stuck nor Failed, or it can't be forced", on)
	}
	return result
}

func forcible(state v1alpha1.StepState) bool {
	return state == v1alpha1.StepStuck || state == v1alpha1.StepFailed
}

func set(status *v1alpha1.StepStatus, state v1alpha1.StepState, cause v1alpha1.Cause, message string) {
	status.State, status.Cause, status.Message = state, cause, message
}

func find(record []v1alpha1.StepStatus, name string) *v1alpha1.StepStatus {
	for i := range record {
		if record[i].Name == name {
			return &record[i]
		}
	}
	return nil
}
