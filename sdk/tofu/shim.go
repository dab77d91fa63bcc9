// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The environment by which a program knows that it was started as the shim.
const (
	// envProgram is the path of OpenTofu.
	envProgram = "INFRARED_TOFU"
	// envStop is the path of the pipe whose byte, or whose end, asks OpenTofu to stop.
	envStop = "INFRARED_TOFU_STOP"
	// envPID is the path of the file that takes the process IDs of OpenTofu and the shim, for a plugin whose shim was killed, and
	// for the plugin after one that was.
	envPID = "INFRARED_TOFU_PID"
	// envInitArgs are flags for init that terraform-exec has no option for.
	envInitArgs = "INFRARED_TOFU_INIT_ARGS"
)

// outputGrace is how long the output is read on after OpenTofu has ended, while a process that it left still holds it.
const outputGrace = 5 * time.Second

// Shim runs OpenTofu where this program was started for that, and then never returns; otherwise it returns at once. Call it
// first in main, before anything else reads the arguments.
//
// terraform-exec ties what it starts to its own life by SIGKILL, which costs the state of a running apply. The shim is what it
// starts, and drops that tie.
func Shim() {
	program := os.Getenv(envProgram)
	if program == "" {
		return
	}
	if err := dropTie(); err != nil {
		fmt.Fprintln(os.Stderr, "starting OpenTofu:", err)
		os.Exit(127)
	}
	os.Exit(shim(program, os.Args[1:]))
}

func shim(program string, args []string) int {
	// Its reader may be gone: then OpenTofu still has to end in order. Not ignored but caught, as OpenTofu would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)

	// Without waiting for the writer: where there is none, the plugin is dead already and the end is read at once.
	stop, err := os.OpenFile(os.Getenv(envStop), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting OpenTofu: opening the pipe that stops it:", err)
		return 127
	}
	cmd := exec.Command(program, args...)
	cmd.Env = tofuEnvironment(os.Environ())
	// A group of its own, so that nobody's Ctrl-C is its second interrupt. It is not tied to the shim's life: the kernel would
	// signal it once for each of the shim's threads.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	copied, err := startPiped(cmd)
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting OpenTofu:", err)
		return 127
	}
	if err := os.WriteFile(os.Getenv(envPID), fmt.Appendln(nil, cmd.Process.Pid, os.Getpid()), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "writing down OpenTofu's process ID:", err)
	}
	interrupt := sync.OnceFunc(func() { _ = cmd.Process.Signal(os.Interrupt) })
	go func() {
		_, _ = stop.Read(make([]byte, 1))
		interrupt()
	}()
	go func() {
		<-asked
		// A second interrupt makes OpenTofu drop what is in flight and its state, so there never is one.
		interrupt()
	}()
	err = cmd.Wait()
	select {
	case <-copied:
	case <-time.After(outputGrace):
	}
	return end(cmd, err)
}

// startPiped starts cmd with its output copied to ours; copied is closed at the end of it. cmd holds the reading ends of its own
// pipes too, so that it has a reader even when the shim is killed: without one it would be killed by what it prints.
// What it prints on its way out then has to fit into the pipe.
func startPiped(cmd *exec.Cmd) (copied <-chan struct{}, err error) {
	var copies sync.WaitGroup
	for _, to := range []struct {
		out *os.File
		in  *io.Writer
	}{{os.Stdout, &cmd.Stdout}, {os.Stderr, &cmd.Stderr}} {
		reader, writer, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer writer.Close()
		widen(writer)
		*to.in = writer
		cmd.ExtraFiles = append(cmd.ExtraFiles, reader)
		copies.Go(func() { _, _ = io.Copy(&survivor{to: to.out}, reader) })
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		copies.Wait()
		close(done)
	}()
	return done, nil
}

// end is the shim's exit code. A signal that ended OpenTofu ends the shim too, so that the plugin sees it.
func end(cmd *exec.Cmd, err error) int {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || err != nil && cmd.ProcessState.Success() {
		fmt.Fprintln(os.Stderr, "waiting for OpenTofu:", err)
		return 127
	}
	if !status.Signaled() {
		return status.ExitStatus()
	}
	// OpenTofu had no chance to end its providers.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	signal.Reset()
	_ = syscall.Kill(os.Getpid(), status.Signal())
	return 128 + int(status.Signal())
}

// tofuEnvironment is the shim's environment without what is for the shim.
func tofuEnvironment(own []string) []string {
	var env []string
	for _, pair := range own {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case envProgram, envStop, envPID, envTie:
		case envInitArgs:
			env = append(env, "TF_CLI_ARGS_init="+value)
		default:
			env = append(env, pair)
		}
	}
	return env
}

// survivor passes output on for as long as somebody reads it, and then drops it.
type survivor struct {
	to   io.Writer
	gone bool
}

// Write never fails: OpenTofu dies of output that it can't write.
func (s *survivor) Write(p []byte) (int, error) {
	if !s.gone {
		_, err := s.to.Write(p)
		s.gone = err != nil
	}
	return len(p), nil
}
