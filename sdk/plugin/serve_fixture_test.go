// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// buildProgram compiles the plugin of these tests.
func buildProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", path, "./internal/program").CombinedOutput(); err != nil {
		t.Fatalf("compiling the tests' plugin: %v\n%s", err, out)
	}
	return path
}

// byHand is a plugin process whose host is the test itself, without go-plugin's help.
type byHand struct {
	cmd    *exec.Cmd
	stdout *os.File
	stderr *os.File
	// parent is the end of the pipe that the plugin watches.
	parent *os.File
	// printed is what came on standard error so far.
	printed *logged
	sockets string
	lines   *bufio.Reader
	conn    *grpc.ClientConn
	exited  chan error
}

// launch starts a plugin the way hosts do.
func launch(t *testing.T, cmd *exec.Cmd, env ...string) *byHand {
	t.Helper()
	sockets, err := os.MkdirTemp("", "ir-test-") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	h := &byHand{cmd: cmd, printed: &logged{}, sockets: sockets, exited: make(chan error, 1)}
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	var stdout, stderr, parent *os.File
	h.stdout, stdout = pipe()
	h.stderr, stderr = pipe()
	parent, h.parent = pipe()
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdout, stderr, []*os.File{parent}
	cmd.Env = append([]string{
		plugin.MagicCookieKey + "=" + plugin.MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS=1", "PLUGIN_UNIX_SOCKET_DIR=" + sockets,
		plugin.EnvParent + "=3", "PATH=/usr/bin:/bin",
	}, env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{stdout, stderr, parent} {
		_ = f.Close()
	}
	h.lines = bufio.NewReader(h.stdout)
	go func() { _, _ = io.Copy(h.printed, h.stderr) }()
	go func() { h.exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		h.leave()
		_ = os.RemoveAll(sockets)
	})
	return h
}

// leave lets go of everything that a host holds, as its kill -9 does.
func (h *byHand) leave() {
	if h.conn != nil {
		_ = h.conn.Close()
	}
	for _, f := range []*os.File{h.stdout, h.stderr, h.parent} {
		_ = f.Close()
	}
}

// handshake reads the first line, and connects to the address in it.
func (h *byHand) handshake(t *testing.T) {
	t.Helper()
	if err := h.stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	line, err := h.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v; on standard error:\n%s", err, h.printed)
	}
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
	if len(fields) < 5 || fields[0] != "1" || fields[2] != "unix" || fields[4] != "grpc" {
		t.Fatalf("the first line is no handshake: %q", line)
	}
	h.conn, err = grpc.NewClient("unix:"+fields[3], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
}

func (h *byHand) provider() provider.Provider { return plugin.NewClient(h.conn, nil) }

// exit waits for the end of the process, and returns its exit code; -1 where a signal ended it.
func (h *byHand) exit(t *testing.T) int {
	t.Helper()
	err := eventually(t, "the plugin's exit", h.exited)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return h.cmd.ProcessState.ExitCode()
}

// waitPrinted waits until standard error has a text.
func (h *byHand) waitPrinted(t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !strings.Contains(h.printed.String(), text); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%q did not come on standard error, which has:\n%s", text, h.printed)
		}
	}
}

// noSocket checks that the plugin has taken its socket away.
func (h *byHand) noSocket(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(h.sockets)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("the plugin is gone and has left %s behind", entry.Name())
	}
}
