// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"darkshift.io/infrared/internal/testplugin"
	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// dialed starts a test plugin by its name, and ends it with the test.
func dialed(t testing.TB, name string, change ...func(*plugin.Launch)) *plugin.Plugin {
	t.Helper()
	path, sum := testplugin.Build(t).Add(t, name)
	l := plugin.Launch{Path: path, SHA256: sum, SocketFolder: socketBase(t)}
	for _, f := range change {
		f(&l)
	}
	p, err := plugin.Dial(t.Context(), l)
	if err != nil {
		t.Fatalf("starting %s: %v", name, err)
	}
	t.Cleanup(p.Kill)
	return p
}

// refused wants a launch to fail with a reason, and returns its message. Nothing may be left of it.
func refused(t testing.TB, l plugin.Launch, want plugin.StartReason) (message string) {
	t.Helper()
	if l.SocketFolder == "" {
		l.SocketFolder = socketBase(t)
	}
	p, err := plugin.Dial(t.Context(), l)
	if err == nil {
		p.Kill()
		t.Fatalf("it started, want %s", want)
	}
	var e *plugin.StartError
	if !errors.As(err, &e) {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	if e.Reason != want {
		t.Errorf("the reason is %s (%s), want %s", e.Reason, e.Message, want)
	}
	if left, err := os.ReadDir(l.SocketFolder); err == nil && len(left) > 0 {
		t.Errorf("the failed start left %v in the socket folder", left)
	}
	if left := processesOf(t, l.Path); len(left) > 0 {
		t.Errorf("the failed start left the processes %v", left)
	}
	return e.Message
}

// socketBase is an empty folder with a path that is short enough for a socket, which a test's own folder need not be.
func socketBase(t testing.TB) string {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "ir-test-") //nolint:usetesting // a test's own folder can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	return base
}

// processesOf lists the processes that run the binary, by number.
func processesOf(t testing.TB, path string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != path {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	return found
}

// withEnv lists the living processes that have this line in their environment, by number.
func withEnv(t testing.TB, line string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	must(t, err)
	var found []int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(data, []byte(line+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		must(t, err)
		if running(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// stat is the state letter of a process; false when there is none with that number.
func stat(pid int) (state string, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))[0], true
}

// running says whether the process does more than wait for somebody to read its exit code.
func running(pid int) bool {
	state, ok := stat(pid)
	return ok && state != "Z" && state != "X"
}

// until waits for a state of the world.
func until(t testing.TB, what string, reached func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !reached() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// marked are credentials that name a file, and the lines that are in it so far.
func marked(t testing.TB) (credentials provider.Credentials, lines func() []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mark")
	credentials = provider.Credentials{Values: map[string]provider.Secret{"MARK": provider.NewSecret(path)}}
	return credentials, func() []string {
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Fields(string(data))
	}
}

// heard keeps what a plugin printed.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}
