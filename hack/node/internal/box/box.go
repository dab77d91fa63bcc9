// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Box is one program, running or about to.
type Box struct {
	// PID is its process number on the host.
	PID int

	cmd     *exec.Cmd
	control *os.File      // to the process that builds the box, until it is the program
	helper  *net.UnixConn // to the helper that runs further programs; nil without one
}

// report is what the process that builds the box says about that.
type report struct {
	Ready bool   `json:",omitempty"`
	Error string `json:",omitempty"`
}

// Start builds a box and returns when it is ready. The program's outputs go to
// stdout and stderr, which the caller closes. Call Go or Kill, and then Wait.
func (l *Launcher) Start(spec Spec, stdout, stderr *os.File) (*Box, error) {
	ours, theirs, err := socketPair("control")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	b := &Box{control: ours}
	b.cmd = exec.Command("/proc/self/exe", EnterCommand)
	b.cmd.Args[0] = os.Args[0]
	b.cmd.Env = []string{}
	b.cmd.Dir = "/"
	b.cmd.Stdout, b.cmd.Stderr = stdout, stderr
	b.cmd.ExtraFiles = []*os.File{theirs}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Setsid:     true,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := identity(spec, b.cmd.SysProcAttr); err != nil {
		ours.Close()
		return nil, err
	}
	if spec.Exec {
		inside, err := b.offerHelper()
		if err != nil {
			ours.Close()
			return nil, err
		}
		defer inside.Close()
		b.cmd.ExtraFiles = append(b.cmd.ExtraFiles, inside)
	}
	if err := l.start(b.cmd); err != nil {
		b.close()
		return nil, fmt.Errorf("making the namespaces: %w: the kernel must allow user namespaces (user.max_user_namespaces above 0)", err)
	}
	b.PID = b.cmd.Process.Pid
	theirs.Close() // or the end of the other side would go unnoticed
	if err := b.build(spec); err != nil {
		b.Kill()
		b.Wait()
		return nil, err
	}
	return b, nil
}

// build hands the spec over and waits until the box is ready.
func (b *Box) build(spec Spec) error {
	if err := json.NewEncoder(b.control).Encode(spec); err != nil {
		return fmt.Errorf("handing over what to run: %w", err)
	}
	var r report
	if err := json.NewDecoder(b.control).Decode(&r); err != nil {
		return errors.New("the process that builds the box ended early: its last words are in the log")
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return nil
}

// Go lets the program run. An error means that it never did: there is no such file, or
// it is no program.
func (b *Box) Go() error {
	if _, err := b.control.Write([]byte{'\n'}); err != nil {
		return fmt.Errorf("starting the program: %w", err)
	}
	// The other end closes when the program takes over.
	said, err := io.ReadAll(b.control)
	if err != nil {
		return fmt.Errorf("starting the program: %w", err)
	}
	if len(said) == 0 {
		return nil
	}
	var r report
	if err := json.Unmarshal(said, &r); err != nil {
		return fmt.Errorf("starting the program: %w", err)
	}
	return errors.New(r.Error)
}

// Signal sends a signal to the program. One that has ended is fine.
func (b *Box) Signal(s syscall.Signal) {
	// Process.Signal knows whether Wait has reaped the process, so that a
	// number that is used again is never hit.
	_ = b.cmd.Process.Signal(s)
}

// Kill ends everything in the box.
func (b *Box) Kill() { b.Signal(syscall.SIGKILL) }

// Wait returns when everything in the box has ended. It must be called once.
func (b *Box) Wait() Exit {
	_ = b.cmd.Wait()
	b.close()
	status, ok := b.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case !ok:
		return Exit{Code: 255}
	case status.Signaled():
		return Exit{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	default:
		return Exit{Code: status.ExitStatus()}
	}
}

func (b *Box) close() {
	b.control.Close()
	if b.helper != nil {
		_ = b.helper.Close()
	}
}

// socketPair makes two connected sockets that no program inherits by accident.
func socketPair(name string) (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the %s socket: %w", name, err)
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}
