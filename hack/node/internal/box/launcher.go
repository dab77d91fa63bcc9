// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"errors"
	"os/exec"
	"runtime"
)

// Launcher starts boxes, which are killed when this process ends. Its methods
// may be called from any goroutine.
type Launcher struct {
	requests chan launch
	closing  chan struct{}
}

type launch struct {
	cmd   *exec.Cmd
	reply chan error
}

// NewLauncher makes a Launcher and its thread.
func NewLauncher() *Launcher {
	l := &Launcher{requests: make(chan launch), closing: make(chan struct{})}
	go l.serve()
	return l
}

// serve forks on one thread that lives as long as the process: the kernel sends
// the death signal when the forking thread ends, not when the process does.
func (l *Launcher) serve() {
	runtime.LockOSThread()
	for {
		select {
		case r := <-l.requests:
			r.reply <- r.cmd.Start()
		case <-l.closing:
			return
		}
	}
}

func (l *Launcher) start(cmd *exec.Cmd) error {
	r := launch{cmd: cmd, reply: make(chan error, 1)}
	select {
	case l.requests <- r:
		return <-r.reply
	case <-l.closing:
		return errors.New("the launcher is closed")
	}
}

// Close kills every box that still runs. It must be called once.
func (l *Launcher) Close() { close(l.closing) }
