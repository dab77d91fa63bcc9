// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Process is one started program. Its methods may be called from any goroutine.
type Process struct {
	spec    Spec
	pid     int
	ticks   uint64
	started time.Time
	done    chan struct{}
	exit    Exit   // written before done is closed
	cause   string // likewise
}

// Exit is how a process ended: by itself with a code, or by a signal.
type Exit struct {
	Code   int    `json:"code"`             // -1 when a signal ended it
	Signal string `json:"signal,omitempty"` // the signal's name, such as SIGKILL
}

// String is "exit code 1" or "signal SIGKILL".
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

func newProcess(spec Spec, cmd *exec.Cmd) *Process {
	p := &Process{spec: spec, pid: cmd.Process.Pid, started: time.Now(), done: make(chan struct{})}
	// Before anybody waits for it, so the number is still its own.
	if found, ok := Look(p.pid); ok {
		p.ticks = found.StartTicks
	}
	go func() {
		// The error says no more than ProcessState does: both outputs are files.
		_ = cmd.Wait()
		p.exit = exitOf(cmd.ProcessState.Sys().(syscall.WaitStatus))
		p.cause = LastError(spec.Log)
		close(p.done)
	}()
	return p
}

func exitOf(ws syscall.WaitStatus) Exit {
	if ws.Signaled() {
		return Exit{Code: -1, Signal: signalName(ws.Signal())}
	}
	return Exit{Code: ws.ExitStatus()}
}

// signalName gives the names people type after kill; the standard library
// has sentences for them.
func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT",
		syscall.SIGHUP: "SIGHUP", syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS",
	}
	if n, ok := names[s]; ok {
		return n
	}
	return fmt.Sprintf("number %d", int(s))
}

// Name is what messages call it.
func (p *Process) Name() string { return p.spec.Name }

// Pid is the process's number.
func (p *Process) Pid() int { return p.pid }

// Found names the process for others, who only see its number.
func (p *Process) Found() Found { return Found{Pid: p.pid, StartTicks: p.ticks} }

// Started is when it was forked.
func (p *Process) Started() time.Time { return p.started }

// Log is the file with what it printed.
func (p *Process) Log() string { return p.spec.Log }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exited says how the process ended; false while it runs.
func (p *Process) Exited() (Exit, bool) {
	select {
	case <-p.done:
		return p.exit, true
	default:
		return Exit{}, false
	}
}

// Stop asks the process to end with SIGTERM, kills it after grace, and returns
// when it is gone.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
	}
}

// Kill ends the process and its group with SIGKILL, and returns when it is gone.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// signal sends to the whole group. A process that has ended is left alone: its
// number may be somebody else's by now.
func (p *Process) signal(s syscall.Signal) {
	if _, ended := p.Exited(); ended {
		return
	}
	_ = syscall.Kill(-p.pid, s)
}

// Cause is the last line of an ended process's log that says why; "" while it
// runs, or when it printed nothing.
func (p *Process) Cause() string {
	if _, ended := p.Exited(); !ended {
		return ""
	}
	return p.cause
}

// Death describes an ended process in one line: how it ended, the last
// line of its log that says why, and where that log is.
func (p *Process) Death() string {
	exit, ended := p.Exited()
	if !ended {
		return p.spec.Name + " is running"
	}
	return Describe(p.spec.Name, exit, p.cause, p.spec.Log)
}

// Describe words the end of a process from its parts. A process that was
// killed from outside has no cause of its own to tell, so what it printed
// before is left out.
func Describe(name string, exit Exit, cause, log string) string {
	switch {
	case exit.Signal == "SIGKILL":
		return fmt.Sprintf("%s was killed by SIGKILL, from somebody or from a kernel short of memory (log: %s)", name, log)
	case exit.Signal == "SIGTERM":
		return fmt.Sprintf("%s was ended from outside by SIGTERM (log: %s)", name, log)
	case cause == "":
		return fmt.Sprintf("%s ended with %s and printed nothing (log: %s)", name, exit, log)
	}
	return fmt.Sprintf("%s ended with %s: %s (log: %s)", name, exit, cause, log)
}
