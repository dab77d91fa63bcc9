// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"darkshift.io/infrared/internal/testplugin"
	"darkshift.io/infrared/sdk/plugin"
)

// A binary that was changed must not run, not even for the moment in which one could see what it prints.
func TestDialNeverExecutesAnotherBinary(t *testing.T) {
	folder := testplugin.Build(t)
	program, sum := folder.Add(t, "touches")
	pinned, err := os.ReadFile(program)
	must(t, err)
	path, ran := filepath.Join(t.TempDir(), "touches"), filepath.Join(t.TempDir(), "ran")
	must(t, os.WriteFile(path, pinned, 0o755))
	l := plugin.Launch{Path: path, SHA256: sum, Sums: &plugin.Sums{}, Env: []string{"TOUCHES=" + ran}}
	refused(t, l, plugin.ReasonPrintsFirst)
	if err := os.Remove(ran); err != nil {
		t.Fatalf("the pinned binary was not executed, so this test shows nothing: %v", err)
	}

	// One byte, the same length; in place, so that neither name nor inode tell.
	other := bytes.Clone(pinned)
	other[len(other)-1] ^= 1
	must(t, os.WriteFile(path, other, 0o755))
	refused(t, l, plugin.ReasonChecksumMismatch)
	if _, err := os.Stat(ran); err == nil {
		t.Error("the changed binary was executed")
	}

	must(t, os.WriteFile(path, pinned, 0o755))
	refused(t, l, plugin.ReasonPrintsFirst)
}

// A checksum of a script would say nothing about what runs, and its interpreter reads it after everybody has looked.
func TestDialRefusesPinnedScripts(t *testing.T) {
	path, ran := filepath.Join(t.TempDir(), "eks"), filepath.Join(t.TempDir(), "ran")
	text := "#!/bin/sh\n: > " + ran + "\n"
	must(t, os.WriteFile(path, []byte(text), 0o755))
	sum := sha256.Sum256([]byte(text))
	message := refused(t, plugin.Launch{Path: path, SHA256: hex.EncodeToString(sum[:])}, plugin.ReasonNotExecutable)
	if !strings.Contains(message, "eks is a script") {
		t.Errorf("it says %q", message)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the script was executed")
	}
}

// Somebody gives the name to another file and back, all the time: whatever the name leads to when the process is made, only the file
// whose checksum was compared runs.
func TestDialWhileTheBinaryIsSwapped(t *testing.T) {
	folder := testplugin.Build(t)
	path, sum := folder.Add(t, "good")
	good, impostor, ran := filepath.Join(folder.Path, "pinned"), filepath.Join(folder.Path, "impostor"), filepath.Join(folder.Path, "ran")
	must(t, os.Link(path, good))
	must(t, os.WriteFile(impostor, []byte("#!/bin/sh\n: > "+ran+"\n"), 0o755))
	swap := func(to string) error {
		next := filepath.Join(folder.Path, "next")
		if err := os.Link(to, next); err != nil {
			return fmt.Errorf("linking the next binary: %w", err)
		}
		// A name that already leads to the same file stays, and so does the new one.
		if err := os.Rename(next, path); err != nil {
			return fmt.Errorf("replacing the binary: %w", err)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	var failed error
	swapping.Go(func() {
		for ctx.Err() == nil && failed == nil {
			failed = errors.Join(swap(impostor), swap(good))
		}
	})
	base := socketBase(t)
	started, mismatched := 0, 0
	for range 50 {
		p, err := plugin.Dial(t.Context(), plugin.Launch{Path: path, SHA256: sum, SocketFolder: base})
		var e *plugin.StartError
		switch {
		case err == nil:
			started++
			p.Kill()
		case errors.As(err, &e) && e.Reason == plugin.ReasonChecksumMismatch:
			mismatched++
		default:
			t.Errorf("with another binary in the way it says %v", err)
		}
	}
	cancel()
	swapping.Wait()
	must(t, failed)
	if _, err := os.Stat(ran); err == nil {
		t.Errorf("a binary that is not pinned was executed: %d starts, %d mismatches", started, mismatched)
	}
	if mismatched == 0 {
		t.Errorf("the binary was never another one in %d starts, so this test shows nothing", started)
	}
	must(t, errors.Join(swap(impostor), swap(good)))
	p, err := plugin.Dial(t.Context(), plugin.Launch{Path: path, SHA256: sum, SocketFolder: base})
	must(t, err)
	p.Kill()
}

// A start that failed is not blamed on the pinned binary when there is another one now.
func TestDialSeesAReplacedBinaryThatFails(t *testing.T) {
	folder := testplugin.Build(t)
	path, sum := folder.Add(t, "exits")
	other, _ := folder.Add(t, "good")
	replace := onLine(func() { must(t, os.Rename(other, path)) })
	refused(t, plugin.Launch{Path: path, SHA256: sum, Output: replace}, plugin.ReasonChecksumMismatch)
}

// onLine is a log that does something at the only line it is given.
type onLine func()

func (f onLine) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// A person sees the plugin under its own name, and what it starts gets nothing of how it was started.
func TestPinnedPluginLooksOrdinary(t *testing.T) {
	p := dialed(t, "good")
	process := "/proc/" + strconv.Itoa(p.PID())
	comm, err := os.ReadFile(process + "/comm")
	must(t, err)
	arguments, err := os.ReadFile(process + "/cmdline")
	must(t, err)
	path, err := os.Readlink(process + "/exe")
	must(t, err)
	if filepath.Base(path) != "good" || string(comm) != "good\n" || string(arguments) != path+"\x00" {
		t.Errorf("%s shows as %q with the arguments %q", path, comm, arguments)
	}
	info, err := os.ReadFile(process + "/fdinfo/4")
	must(t, err)
	_, flags, _ := strings.Cut(string(info), "flags:")
	bits, err := strconv.ParseInt(strings.Fields(flags)[0], 8, 64)
	must(t, err)
	if bits&syscall.O_CLOEXEC == 0 {
		t.Error("what the plugin starts inherits the plugin's binary")
	}
}

// Whoever replaces the binary between its checksum and its start would have another one executed.
func TestDialSeesAReplacedBinary(t *testing.T) {
	folder := testplugin.Build(t)
	path, sum := folder.Add(t, "good")
	other, _ := folder.Add(t, "two-versions")
	fifo := filepath.Join(folder.Path, "pipe")
	must(t, syscall.Mkfifo(fifo, 0o755))
	refused(t, plugin.Launch{Path: fifo}, plugin.ReasonNotExecutable)

	// The first call is made while the process runs, before its binary is looked at again.
	replace := grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if _, err := os.Stat(other); err == nil {
			must(t, os.Rename(other, path))
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	})
	message := refused(t, plugin.Launch{Path: path, SHA256: sum, DialOptions: []grpc.DialOption{replace}}, plugin.ReasonChecksumMismatch)
	if !strings.Contains(message, "was replaced") {
		t.Errorf("it says %q", message)
	}
}
