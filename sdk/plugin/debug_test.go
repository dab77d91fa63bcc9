// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// attachedTo reads the line that a plugin printed, through a shell as a person would, and connects.
func attachedTo(t *testing.T, line string, pid int) *grpc.ClientConn {
	t.Helper()
	text, err := exec.Command("/bin/sh", "-c", line+"; printf %s \"$INFRARED_ATTACH_PROVIDERS\"").Output()
	if err != nil {
		t.Fatal(err)
	}
	var plugins map[string]struct {
		Protocol, PID int
		Socket        string
	}
	if err := json.Unmarshal(text, &plugins); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	got := plugins["program"]
	if got.Protocol != plugin.Supported()[0] || got.PID != pid {
		t.Errorf("%+v, want the newest protocol and process %d", got, pid)
	}
	conn, err := grpc.NewClient("unix:"+got.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func debugging(t *testing.T, path string) {
	// A quote in the path must not end the shell's word.
	temp := filepath.Join(t.TempDir(), "it's")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	dead := leftBehind(t, temp)
	cmd := exec.Command(path, "serve", "--debug")
	h := launch(t, cmd, "TMPDIR="+temp)
	line, err := h.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%v; on standard error:\n%s", err, h.printed)
	}
	line = strings.TrimSuffix(line, "\n")
	h.waitPrinted(t, "INFRARED_ATTACH_PROVIDERS or --attach-providers")
	if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of a plugin that was killed is still there: %v", err)
	}
	// Hosts come, call, stop the plugin as they do with their own, and go.
	for range 2 {
		conn := attachedTo(t, line, cmd.Process.Pid)
		ping, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "plugin"})
		if err != nil || ping.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Fatalf("ping: %v, %v", ping, err)
		}
		d, err := plugin.Describe(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(provider.Facts{Name: "program", Version: "v0.1.0"}, d.Facts); diff != "" {
			t.Errorf("the facts (-want +got):\n%s", diff)
		}
		if _, err := plugin.NewClient(conn, nil).Sweep(t.Context(), provider.SweepRequest{}); err != nil {
			t.Fatal(err)
		}
		if err := plugin.Stop(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	h.conn = attachedTo(t, line, cmd.Process.Pid)
	folder := t.TempDir()
	_, done := h.begun(t, folder)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := eventually(t, "the build's end", done); err != nil {
		t.Errorf("the build's end did not arrive: %v", err)
	}
	if code := h.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0; on standard error:\n%s", code, h.printed)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left in TMPDIR: %v, %v", left, err)
	}
}

// leftBehind makes what a plugin leaves that was killed an hour ago.
func leftBehind(t *testing.T, temp string) string {
	t.Helper()
	folder := filepath.Join(temp, "ir-debug-1")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, "plugin.sock")})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	_ = listener.Close()
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(folder, before, before); err != nil {
		t.Fatal(err)
	}
	return folder
}

func debuggingWithLongPath(t *testing.T, path string) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 95))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	h := launch(t, exec.Command(path, "serve", "--debug"), "TMPDIR="+long)
	if code := h.exit(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	h.waitPrinted(t, "and 107 is the most: set TMPDIR to a shorter folder\n")
	if left, err := os.ReadDir(long); err != nil || len(left) > 0 {
		t.Errorf("left in TMPDIR: %v, %v", left, err)
	}
}
