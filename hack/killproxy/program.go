// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
)

// program keeps one process of a command running over kills that are asked for. A process that ends by itself ends
// the program's context, with the reason as its cause.
type program struct {
	ctx     context.Context //nolint:containedctx // the program's life is this context, handed to the job
	cancel  context.CancelCauseFunc
	command func() *exec.Cmd
	again   chan struct{} // closed when the program was killed and started again

	mu      sync.Mutex
	current *process
	stopped bool
}

// process is one started process.
type process struct {
	cmd  *exec.Cmd
	kill func()        // asks the system to end it at once
	done chan struct{} // closed when it is gone
	err  error         // how it ended, to be read once done is closed
}

func newProgram(ctx context.Context, command func() *exec.Cmd) *program {
	ctx, cancel := context.WithCancelCause(ctx)
	return &program{ctx: ctx, cancel: cancel, command: command, again: make(chan struct{})}
}

// start starts the next process, unless the program was stopped.
func (p *program) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil
	}
	next, err := startProcess(p.command())
	if err != nil {
		return fmt.Errorf("starting the program: %w", err)
	}
	p.current = next
	go p.watch(next)
	return nil
}

// watch ends the context when a process that is still the current one is gone: nobody asked for that.
func (p *program) watch(watched *process) {
	<-watched.done
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == watched {
		p.cancel(fmt.Errorf("the program ended by itself: %w", watched.err))
	}
}

// kill kills the current process, waits until it is gone, and starts the next one. It is called once at most.
func (p *program) kill() {
	p.end()
	if err := p.start(); err != nil {
		p.cancel(err)
		return
	}
	close(p.again)
}

// stop kills the current process for good.
func (p *program) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.end()
	p.cancel(nil)
}

func (p *program) end() {
	p.mu.Lock()
	dying := p.current
	p.current = nil // before the kill, so that watch knows it was asked for
	p.mu.Unlock()
	if dying == nil {
		return
	}
	dying.kill()
	<-dying.done
}

// startProcess starts a command in a goroutine that keeps its thread until the process is gone: Linux ends a process
// that is to die with its parent as soon as the thread that started it ends.
func startProcess(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		if p.err == nil {
			p.err = fmt.Errorf("%s", cmd.ProcessState)
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.kill = func() { _ = cmd.Process.Kill() }
	return p, nil
}
