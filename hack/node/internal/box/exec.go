// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// outputLimit is how much a program in Exec may print before the rest is
// thrown away, in bytes.
const outputLimit = 10 << 10

// execRequest asks the helper to run a program.
type execRequest struct {
	Args []string
	Env  []string
	Dir  string
}

// execResult is the helper's answer.
type execResult struct {
	Code   int
	Output string
	Error  string
}

// Exec runs a further program in the box, as the same user, and returns its
// exit code and what it printed. It is killed when ctx ends. The error says
// that it could not be run at all, or not within ctx.
func (b *Box) Exec(ctx context.Context, args, env []string, dir string) (code int, output string, err error) {
	if b.helper == nil {
		return 0, "", errors.New("the box was made without a helper")
	}
	conn, err := b.callHelper()
	if err != nil {
		return 0, "", fmt.Errorf("reaching the helper: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := json.NewEncoder(conn).Encode(execRequest{Args: args, Env: env, Dir: dir}); err != nil {
		return 0, "", fmt.Errorf("asking the helper: %w", err)
	}
	var r execResult
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		if ctx.Err() != nil {
			return 0, "", ctx.Err()
		}
		return 0, "", fmt.Errorf("hearing from the helper: %w", err)
	}
	if r.Error != "" {
		return 0, r.Output, errors.New(r.Error)
	}
	return r.Code, r.Output, nil
}

// offerHelper makes the socket to a helper and returns the helper's end.
func (b *Box) offerHelper() (*os.File, error) {
	ours, inside, err := socketPair("helper")
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		inside.Close()
		return nil, fmt.Errorf("making the helper socket: %w", err)
	}
	b.helper = conn.(*net.UnixConn)
	return inside, nil
}

// callHelper gives the helper one end of a new connection.
func (b *Box) callHelper() (net.Conn, error) {
	ours, theirs, err := socketPair("exec")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	defer ours.Close()
	if _, _, err := b.helper.WriteMsgUnix([]byte{'x'}, unix.UnixRights(int(theirs.Fd())), nil); err != nil {
		return nil, err
	}
	return net.FileConn(ours)
}

// startHelper forks the helper before this process becomes the program. It is a
// child of the program, which has to live with a child it doesn't know.
func startHelper(spec Spec) error {
	cmd := exec.Command("/proc/self/exe", HelperCommand)
	cmd.Env = []string{}
	cmd.ExtraFiles = []*os.File{os.NewFile(helperFD, "helper")}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the helper for user %d: %w", spec.UID, err)
	}
	return nil
}

// Helper serves Exec inside a box until the box or the supervisor ends.
func Helper(ctx context.Context) error {
	unix.CloseOnExec(controlFD)
	for {
		fd, err := receive(controlFD)
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(fd), "exec")
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			return fmt.Errorf("taking a connection: %w", err)
		}
		go serveExec(ctx, conn)
	}
}

func receive(socket int) (int, error) {
	word, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := unix.Recvmsg(socket, word, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("waiting for work: %w", err)
	}
	if n == 0 {
		return 0, errors.New("the supervisor has gone")
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("reading the connection: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, fmt.Errorf("reading the connection: %w", err)
	}
	return fds[0], nil
}

// serveExec runs one program. The caller's end of the connection closing means
// that the time is up.
func serveExec(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	var r execRequest
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	_ = json.NewEncoder(conn).Encode(runExec(ctx, r))
}

func runExec(ctx context.Context, r execRequest) execResult {
	if len(r.Args) == 0 {
		return execResult{Error: "no command"}
	}
	path, err := lookUp(r.Args[0], r.Env)
	if err != nil {
		return execResult{Error: err.Error()}
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir = r.Args, r.Env, r.Dir
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	var out limited
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return execResult{Error: err.Error(), Output: out.String()}
	}
	return execResult{Code: cmd.ProcessState.ExitCode(), Output: out.String()}
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := outputLimit - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
