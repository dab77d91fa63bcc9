// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// tries is how often a run is done again whose program did not come to the write it was to be killed at, since the
// order and number of a program's writes may differ a little from run to run.
const tries = 3

// Scenario is a job for a program, and how to tell that it was done.
type Scenario struct {
	// Proxy is what the program reaches the server through, and nobody else does.
	Proxy *Proxy
	// Command builds the program's next process and does not start it. It may send its output where it likes.
	Command func() *exec.Cmd
	// Prepare, where it is set, makes the world ready for a run before the program starts. Runs are numbered from 0.
	Prepare func(ctx context.Context, run int) error
	// Job does the job once while the program runs, and perhaps is killed and started again: it asks for something and
	// waits until that is done. It ends soon after ctx ends.
	Job func(ctx context.Context, run int) error
	// End waits until the program has taken up its work, which may be a new process's since the job was done, and
	// says how things are, in words that are the same for each run that ended well. It ends soon after ctx ends.
	End func(ctx context.Context, run int) (string, error)
	// Timeout bounds one run. Zero means two minutes.
	Timeout time.Duration
}

// Row is one run in which the program was to be killed.
type Row struct {
	// Nth is the write's place in the run, counted from 1, and 0 when the program did not come to it.
	Nth int
	// When is the side of the write.
	When When
	// Write is the write at which the program was killed.
	Write Write
	// Problem is what was wrong in the end, empty when nothing was.
	Problem string
	// Took is how long the run lasted.
	Took time.Duration
}

// Report is what Explore found.
type Report struct {
	// Writes are those of the run without a kill, in order.
	Writes []Write
	// End is the end that every run should come to.
	End string
	// Rows has one row for each run with a kill.
	Rows []Row
	// Shortest is the smallest number of writes in which a run that was not killed did the whole job. It can be less than
	// len(Writes) where the timing decides whether two changes are written apart or together.
	Shortest int
}

// Run explores a scenario in a test, prints the table, and fails the test for each problem.
func Run(t *testing.T, s Scenario) Report {
	t.Helper()
	report, err := Explore(t.Context(), s)
	if err != nil {
		t.Fatalf("exploring the kills: %v", err)
	}
	t.Logf("kills at each of %d writes, on both sides\n%s", len(report.Writes), report.Table())
	for _, problem := range report.Problems() {
		t.Error(problem)
	}
	return report
}

// Explore does a job without a kill, and then once for each of the job's writes and each side of it, killing the
// program there. An error means that the exploring itself could not be done; what the kills brought to light is in the
// report. Before all that it does the job once more, unseen, so that what a program writes once and for all is out of
// the way; a scenario that wants those writes too takes their objects away in Prepare.
func Explore(ctx context.Context, s Scenario) (Report, error) {
	e := explorer{Scenario: s}
	if e.Timeout == 0 {
		e.Timeout = 2 * time.Minute
	}
	if _, err := e.unkilled(ctx); err != nil {
		return Report{}, fmt.Errorf("the first run without a kill: %w", err)
	}
	end, err := e.unkilled(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("the run without a kill: %w", err)
	}
	e.report.End, e.report.Writes = end, s.Proxy.Writes()
	e.report.Shortest = len(e.report.Writes)
	if len(e.report.Writes) == 0 {
		return Report{}, errors.New("the run without a kill made no write through the proxy: does the program use its kubeconfig?")
	}
	for _, when := range []When{Before, After} {
		e.byCount(ctx, when)
		e.byName(ctx, when)
	}
	if err := ctx.Err(); err != nil {
		return e.report, fmt.Errorf("exploring the kills: %w", err)
	}
	return e.report, nil
}

// explorer is the state of one Explore.
type explorer struct {
	Scenario
	runs   int
	report Report
}

// byCount kills at the first write, at the second, and so on.
func (e *explorer) byCount(ctx context.Context, when When) {
	for n := range e.report.Writes {
		e.insist(ctx, when, func(kill func()) { e.Proxy.Arm(n+1, when, kill) })
	}
}

// byName kills at the writes that counting did not come to, because the order differed from run to run.
func (e *explorer) byName(ctx context.Context, when When) {
	for _, w := range e.report.missed(when) {
		e.insist(ctx, when, func(kill func()) { e.Proxy.ArmAt(w, when, kill) })
	}
}

// insist does a run with a kill, and does it again while the program does not come to the write that was meant. A run
// that came to no kill leaves no row, unless it had a problem.
func (e *explorer) insist(ctx context.Context, when When, arm func(kill func())) {
	for range tries {
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		end, err := e.run(ctx, arm)
		row := Row{When: when, Took: time.Since(began)}
		switch {
		case err != nil:
			row.Problem = err.Error()
		case end != e.report.End:
			row.Problem = fmt.Sprintf("ended as %q, without a kill it ends as %q", end, e.report.End)
		}
		write, fired := e.Proxy.Fired()
		if fired {
			row.Write, row.Nth = write, e.Proxy.firedAt()
		}
		if fired || row.Problem != "" {
			e.report.Rows = append(e.report.Rows, row)
			return
		}
		e.report.Shortest = min(e.report.Shortest, len(e.Proxy.Writes()))
	}
}

func (e *explorer) unkilled(ctx context.Context) (string, error) {
	return e.run(ctx, func(func()) { e.Proxy.Disarm() })
}

// run does the job once, with the program running and started again when the proxy killed it.
func (e *explorer) run(ctx context.Context, arm func(kill func())) (string, error) {
	run := e.runs
	e.runs++
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout,
		fmt.Errorf("the job was not done within %s", e.Timeout))
	defer cancel()
	if e.Prepare != nil {
		if err := e.Prepare(ctx, run); err != nil {
			return "", fmt.Errorf("preparing run %d: %w", run, err)
		}
	}
	program := newProgram(ctx, e.Command)
	arm(program.kill)
	if err := program.start(); err != nil {
		return "", err
	}
	// What this run's last process had sent must not reach into the next run.
	defer e.Proxy.forget()
	defer program.stop()

	end, err := e.work(program, run)
	cause := context.Cause(program.ctx)
	switch {
	case cause != nil && err != nil:
		return "", fmt.Errorf("%w (the job said: %w)", cause, err)
	case cause != nil:
		return "", cause
	}
	return end, err
}

// work does the job and looks at its end. A job can be seen to be done while its last write's kill is still on the
// way, and then the end is looked at only after the program came up again.
func (e *explorer) work(program *program, run int) (string, error) {
	if err := e.Job(program.ctx, run); err != nil {
		return "", err
	}
	if _, fired := e.Proxy.Fired(); fired {
		select {
		case <-program.again:
		case <-program.ctx.Done():
			return "", errors.New("the program did not start again")
		}
	}
	return e.End(program.ctx, run)
}
