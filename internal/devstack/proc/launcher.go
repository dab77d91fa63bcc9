// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// errClosed is returned by Start after Close.
var errClosed = errors.New("the launcher is closed")

// Spec says what to run.
type Spec struct {
	Name string   // what messages call it
	Path string   // the program's file
	Args []string // without the program's name
	Dir  string   // working folder; empty: the parent's
	Env  []string // added to the parent's environment
	Log  string   // file that takes both outputs; what it held moves to Log + ".1"
}

// Launcher starts processes that are killed when this process, or the Launcher
// itself, ends. Its methods may be called from any goroutine.
type Launcher struct {
	requests chan request
	closing  chan struct{}
	closed   chan struct{}
	once     sync.Once

	mu    sync.Mutex
	procs []*Process
}

type request struct {
	cmd   *exec.Cmd
	reply chan error
}

// NewLauncher makes a Launcher and its thread. Close it when done.
func NewLauncher() *Launcher {
	l := &Launcher{
		requests: make(chan request),
		closing:  make(chan struct{}),
		closed:   make(chan struct{}),
	}
	go l.serve()
	return l
}

// serve forks on the one thread that the children's death signal is tied to.
// It never unlocks: when it returns, the runtime ends the thread, and the kernel
// kills what is left.
func (l *Launcher) serve() {
	runtime.LockOSThread()
	defer close(l.closed)
	for {
		select {
		case r := <-l.requests:
			r.reply <- r.cmd.Start()
		case <-l.closing:
			return
		}
	}
}

// Start runs spec's program and returns as soon as it is forked. The error
// says when the program or its log can't be opened.
func (l *Launcher) Start(spec Spec) (*Process, error) {
	log, err := openLog(spec.Log)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", spec.Name, err)
	}
	// The child has its own copy of the descriptor.
	defer log.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = spec.Dir
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := dieWithParent(cmd); err != nil {
		return nil, err
	}
	r := request{cmd: cmd, reply: make(chan error, 1)}
	select {
	case l.requests <- r:
	case <-l.closing:
		return nil, errClosed
	}
	if err := <-r.reply; err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	p := newProcess(spec, cmd)
	l.mu.Lock()
	l.procs = append(l.procs, p)
	l.mu.Unlock()
	return p, nil
}

// Close kills every process that is still running, and returns when all are
// gone.
func (l *Launcher) Close() {
	l.once.Do(func() { close(l.closing) })
	<-l.closed
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.procs {
		p.Kill()
	}
}

// openLog opens a fresh log and keeps the one before it, which tells why the
// process was started again.
func openLog(path string) (*os.File, error) {
	if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	// Appending, so that output of a grandchild that lives on lands at the end.
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}
