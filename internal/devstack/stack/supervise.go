// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

const (
	// tick is how often the supervisor looks for a new wish and for deaths. It
	// touches memory and one file's date.
	tick = 200 * time.Millisecond
	// startLimit is how long one start of all that is wanted may take.
	startLimit = 4 * time.Minute
	// stoppedAll ends the log of a supervisor that was asked to stop.
	stoppedAll = "has stopped everything"
	// lockPatience covers a command that looks whether the lock is held.
	lockPatience = 2 * time.Second
)

// supervisor is the parent of everything in a stack.
type supervisor struct {
	stack    *Stack
	log      *log.Logger
	launcher *proc.Launcher

	mu         sync.Mutex
	planes     []*plane // management first
	setup      *setup
	plugins    *plugins
	units      []*unit
	generation int64
	settled    bool

	published []byte // state.json as it was written last; the main goroutine's
}

// Supervise runs the stack until ctx ends, then stops all of it. It writes its
// log to out. The error says when another supervisor runs, or when the data
// folder can't be used.
func (s *Stack) Supervise(ctx context.Context, out io.Writer) error {
	lock, err := s.takeSupervisorLock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()

	sup := &supervisor{
		stack:    s,
		log:      log.New(out, "", log.LstdFlags|log.LUTC),
		launcher: proc.NewLauncher(),
		setup:    &setup{stack: s},
		plugins:  &plugins{stack: s},
	}
	for _, service := range services() {
		sup.units = append(sup.units, &unit{service: service, stack: s, launcher: sup.launcher, log: sup.log.Printf})
	}
	sup.log.Printf("supervisor %d runs the stack in %s", os.Getpid(), s.Data)
	err = sup.run(ctx)
	sup.stopAll(context.WithoutCancel(ctx))
	sup.log.Printf("supervisor %d %s", os.Getpid(), stoppedAll)
	if rmErr := os.Remove(s.stateFile()); err == nil && !errors.Is(rmErr, os.ErrNotExist) {
		err = rmErr
	}
	return err
}

// takeSupervisorLock also writes our pid into the lock file.
func (s *Stack) takeSupervisorLock(ctx context.Context) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		lock, err := folder.TryLock(s.path("supervisor.lock"))
		if err == nil {
			return lock, writePid(lock)
		}
		if !errors.Is(err, folder.ErrLocked) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another supervisor runs the stack in %s", s.Data)
		case <-time.After(tick / 10):
		}
	}
}

func writePid(lock *os.File) error {
	if err := lock.Truncate(0); err != nil {
		return fmt.Errorf("writing the supervisor's pid: %w", err)
	}
	if _, err := lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("writing the supervisor's pid: %w", err)
	}
	return nil
}

// run serves one wish after the other. While one is served, and between them,
// state.json is kept true.
func (sup *supervisor) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	// The units are stopped by our caller, which may not happen under a start.
	defer serving.Wait()
	defer cancel()

	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	busy, done := false, make(chan struct{}, 1)
	for {
		if w, err := sup.stack.readWanted(); err != nil {
			return err
		} else if !busy && w.Generation != sup.current() {
			busy = true
			sup.begin(w)
			serving.Go(func() {
				sup.converge(ctx, w)
				done <- struct{}{}
			})
		}
		sup.publish()
		select {
		case <-ctx.Done():
			return nil
		case <-done:
			busy = false
		case <-ticker.C:
		}
	}
}

func (sup *supervisor) current() int64 {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	return sup.generation
}

// begin makes room for a new wish.
func (sup *supervisor) begin(w Wanted) {
	sup.log.Printf("wish %d: clusters %v, operator %t, node %s", w.Generation, w.Clusters, w.Operator, firstOf(w.Node, NodeNone))
	sup.mu.Lock()
	defer sup.mu.Unlock()
	sup.generation, sup.settled = w.Generation, false
	for _, name := range append([]string{Management}, w.Clusters...) {
		if sup.plane(name) == nil {
			sup.planes = append(sup.planes, &plane{stack: sup.stack, name: name})
		}
	}
}

// plane finds a control plane by name; the caller holds the lock.
func (sup *supervisor) plane(name string) *plane {
	for _, p := range sup.planes {
		if p.name == name {
			return p
		}
	}
	return nil
}

// publish writes state.json if anything in it changed.
func (sup *supervisor) publish() {
	data, err := json.Marshal(sup.state())
	if err != nil || bytes.Equal(data, sup.published) {
		return
	}
	if err := folder.WriteFile(sup.stack.stateFile(), append(data, '\n')); err != nil {
		sup.log.Print(err) // tried again at the next tick
		return
	}
	sup.published = data
}

func (sup *supervisor) state() State {
	sup.mu.Lock()
	defer sup.mu.Unlock()
	st := State{Format: format, Supervisor: os.Getpid(), Generation: sup.generation, Settled: sup.settled}
	for _, p := range sup.planes {
		st.Components = append(st.Components, p.rows()...)
		if p.name != Management {
			continue
		}
		st.Components = append(append(st.Components, sup.setup.rows()...), sup.plugins.rows()...)
		for _, u := range sup.units {
			st.Components = append(st.Components, u.rows()...)
		}
	}
	return st
}
