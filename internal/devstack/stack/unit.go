// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/proc"
)

const (
	serviceGrace     = 10 * time.Second
	serviceReadyPoll = 50 * time.Millisecond

	// A service that is revived is started again after the first of these, which
	// doubles up to the last, and begins anew with one that lived longer than that.
	firstWait = time.Second
	lastWait  = 30 * time.Second
)

// unit keeps one service up. Only one goroutine calls start and stop; rows may be
// called at any time.
type unit struct {
	service
	stack    *Stack
	launcher *proc.Launcher
	log      func(format string, args ...any)

	// begun ends the reviving, and what runs of it is counted in reviving.
	begun    context.CancelFunc
	reviving sync.WaitGroup

	mu       sync.Mutex
	process  *proc.Process
	identity string // of the file that process runs and of all that it was given
	wish     Wanted // with which it was started
	address  string
	busy     bool
	restarts int
	readyAt  time.Time
	err      error
}

// start runs the program as it is now on disk, in place of an older one. A
// program that isn't built is left out.
func (u *unit) start(ctx context.Context, cp *devstack.ControlPlane, w Wanted) error {
	program := u.program(u.stack, w)
	identity := fileIdentity(program)
	if identity == "" {
		return nil
	}
	identity += fmt.Sprint(" ", program, " ", cp.URL)
	if u.reads != nil {
		identity += " " + u.reads(u.stack, w)
	}
	if identity == u.identity && u.isReady() {
		return nil
	}
	u.end()
	u.set(func() { u.identity, u.wish, u.restarts = identity, w, 0 })
	err := u.launch(ctx, cp)
	if u.revive {
		// Not ctx, which ends with this start.
		lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		u.begun = cancel
		u.reviving.Go(func() { u.keep(lasting, cp) })
	}
	return err
}

// launch starts the program and waits until it is ready.
func (u *unit) launch(ctx context.Context, cp *devstack.ControlPlane) error {
	u.set(func() { u.busy, u.err = true, nil })
	err := u.tryLaunch(ctx, cp)
	u.set(func() {
		u.busy, u.err = false, err
		if err == nil {
			u.readyAt = time.Now()
		}
	})
	return err
}

func (u *unit) tryLaunch(ctx context.Context, cp *devstack.ControlPlane) error {
	l, err := u.prepare(ctx, u.stack, cp, u.wish)
	if err != nil {
		return err
	}
	process, err := u.launcher.Start(proc.Spec{
		Name: u.name,
		Path: u.program(u.stack, u.wish),
		Args: l.args,
		Env:  l.env,
		Dir:  cp.Dir(),
		Log:  u.logFile(),
	})
	if err != nil {
		return err
	}
	u.set(func() { u.process, u.address = process, l.address })
	return u.waitReady(ctx, process, l.ready)
}

// waitReady asks until the program is ready, dies, or ctx ends.
func (u *unit) waitReady(ctx context.Context, process *proc.Process, ready func(context.Context) error) error {
	ticker := time.NewTicker(serviceReadyPoll)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-process.Done():
			return fmt.Errorf("%s", process.Death())
		case <-ctx.Done():
			return fmt.Errorf("%s runs but doesn't get ready: %s (log: %s)", u.name, firstOf(proc.LastError(u.logFile()), err.Error()), u.logFile())
		case <-ticker.C:
		}
	}
}

// keep starts the program again each time that it dies, until ctx ends.
func (u *unit) keep(ctx context.Context, cp *devstack.ControlPlane) {
	wait := firstWait
	for {
		if process := u.current(); process != nil {
			select {
			case <-ctx.Done():
				return
			case <-process.Done():
			}
			u.log("%s; it is started again", process.Death())
			if time.Since(process.Started()) > lastWait {
				wait = firstWait
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = min(2*wait, lastWait)
		u.set(func() { u.restarts++ })
		limited, cancel := context.WithTimeout(ctx, startLimit)
		if err := u.launch(limited, cp); err != nil && ctx.Err() == nil {
			u.log("%v", err)
		}
		cancel()
	}
}

func (u *unit) current() *proc.Process {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.process
}

// end ends the program, if it runs; it will be started again.
func (u *unit) end() {
	if u.begun != nil {
		u.begun()
		u.reviving.Wait()
		u.begun = nil
	}
	process := u.current()
	if process == nil {
		return
	}
	process.Stop(serviceGrace)
	u.set(func() { u.process, u.identity, u.err = nil, "", nil })
}

// stop ends the program, if it runs, and what it leaves behind.
func (u *unit) stop(ctx context.Context) {
	ran := u.current() != nil || u.begun != nil
	u.end()
	u.set(func() { u.err, u.identity = nil, "" })
	if !ran || u.ended == nil {
		return
	}
	if err := u.ended(ctx, u.stack, u.wish); err != nil {
		u.log("%v", err)
	}
}

func (u *unit) logFile() string {
	return filepath.Join(u.stack.clusterDir(Management), "logs", u.name+".log")
}

func (u *unit) set(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
}

func (u *unit) isReady() bool {
	return slices.ContainsFunc(u.rows(), func(c Component) bool { return c.Phase == Ready })
}

// rows describes the program; nothing when it was not to be started.
func (u *unit) rows() []Component {
	u.mu.Lock()
	defer u.mu.Unlock()
	row := Component{Cluster: Management, Name: u.name, Phase: Starting, Restarts: u.restarts}
	switch {
	case u.process != nil:
		row.Log, row.Address = u.logFile(), u.address
		describeProcess(&row, u.process)
		if row.Phase == Dead || u.busy {
			break
		}
		row.Phase, row.ReadyAt = Ready, u.readyAt
		if u.err != nil {
			row.Phase, row.Reason, row.ReadyAt = NotReady, u.err.Error(), time.Time{}
		}
	case u.err != nil:
		row.Phase, row.Reason = Failed, u.err.Error()
	case !u.busy:
		return nil
	}
	return []Component{row}
}
