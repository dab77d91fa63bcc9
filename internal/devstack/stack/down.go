// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

const (
	// downGrace is how long the supervisor may take to stop everything.
	downGrace = 60 * time.Second
	// leftoverGrace is how long a process without a supervisor may take to end.
	leftoverGrace = 3 * time.Second
)

// Down stops everything that runs, however it came to run: through the
// supervisor, or left behind by one that was killed. Data stays, unless purge
// asks for its removal; compiled programs stay always.
func (s *Stack) Down(ctx context.Context, purge bool, out io.Writer) error {
	if err := folder.CheckOurs(s.Data, mark, programs, "command.lock"); err != nil {
		return err
	}
	if !s.isOurs() {
		fmt.Fprintf(out, "there is no stack in %s\n", s.Data)
		return nil
	}
	unlock, err := s.lockCommand(out)
	if err != nil {
		return err
	}
	defer unlock()

	stopped, err := s.stopSupervisor(ctx)
	if err != nil {
		return err
	}
	left, err := s.endLeftovers()
	if err != nil {
		return err
	}
	// What the node left, also one that was killed; the supervisor has ended the rest in order.
	if err := s.endPods(ctx, orphanGrace, purge); err != nil {
		return err
	}
	if err := os.Remove(s.stateFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the state: %w", err)
	}
	switch {
	case stopped:
		fmt.Fprintln(out, "the stack is down")
	case left > 0:
		fmt.Fprintf(out, "the supervisor was gone; ended %d processes that it left\n", left)
	default:
		fmt.Fprintln(out, "nothing was running")
	}
	if purge {
		return s.purge(out)
	}
	return nil
}

// stopSupervisor asks the supervisor to stop everything and waits until it is
// gone. One that doesn't obey is killed, and its children with it.
func (s *Stack) stopSupervisor(ctx context.Context) (bool, error) {
	pid, running, err := s.supervisor()
	if err != nil || !running {
		return false, err
	}
	found, ok := proc.Look(pid)
	if !ok {
		// It holds the lock and hasn't written its pid yet, or is just ending.
		found, ok = s.unnamedSupervisor()
	}
	if ok {
		found.Signal(syscall.SIGTERM)
	}
	deadline := time.NewTimer(downGrace)
	defer deadline.Stop()
	ticker := time.NewTicker(tick / 4)
	defer ticker.Stop()
	for {
		if _, running, err := s.supervisor(); err != nil || !running {
			return true, err
		}
		select {
		case <-ctx.Done():
			return false, errors.New("interrupted: the stack may still be stopping, run ir dev down again")
		case <-deadline.C:
			found.Signal(syscall.SIGKILL)
			deadline.Reset(downGrace)
		case <-ticker.C:
		}
	}
}

// unnamedSupervisor finds a supervisor by its environment.
func (s *Stack) unnamedSupervisor() (proc.Found, bool) {
	found, err := proc.FindByEnv(ownerEnv, s.Data)
	if err != nil || len(found) == 0 {
		return proc.Found{}, false
	}
	return found[0], true
}

// endLeftovers ends every process that carries this data folder in its
// environment or is recorded in state.json, and says how many there were. It must
// not be called while a supervisor runs.
func (s *Stack) endLeftovers() (int, error) {
	found, err := proc.FindByEnv(ownerEnv, s.Data)
	if err != nil {
		return 0, err
	}
	// The kernel kills a dead supervisor's children, but takes a moment, in
	// which they show no environment any more.
	if st, err := s.readState(); err == nil {
		for _, c := range st.Components {
			f := proc.Found{Pid: c.Pid, StartTicks: c.Ticks}
			known := slices.ContainsFunc(found, func(o proc.Found) bool { return o.Pid == f.Pid })
			if c.Pid != 0 && !known && f.Alive() {
				found = append(found, f)
			}
		}
	}
	for _, f := range found {
		f.Signal(syscall.SIGTERM)
	}
	deadline := time.Now().Add(leftoverGrace)
	for _, f := range found {
		for f.Alive() {
			if time.Now().After(deadline) {
				f.Signal(syscall.SIGKILL)
			}
			<-time.After(tick / 10)
		}
	}
	return len(found), nil
}

// purge removes all that the stack keeps, but not the compiled programs.
func (s *Stack) purge(out io.Writer) error {
	entries, err := os.ReadDir(s.Data)
	if err != nil {
		return fmt.Errorf("listing the data folder: %w", err)
	}
	// The mark goes last: a purge that is cut short can be done again.
	for _, last := range []bool{false, true} {
		for _, e := range entries {
			if e.Name() == programs || (e.Name() == mark) != last {
				continue
			}
			if err := os.RemoveAll(s.path(e.Name())); err != nil {
				return fmt.Errorf("removing the data: %w", err)
			}
		}
	}
	fmt.Fprintf(out, "removed the data in %s\n", s.Data)
	return nil
}
