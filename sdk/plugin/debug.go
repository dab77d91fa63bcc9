// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	goplugin "github.com/hashicorp/go-plugin"
)

// maxSocketPath is how long the path of a unix socket may be on Linux, its final zero not counted.
const maxSocketPath = 107

// How the private folder of a plugin under debugging begins, and what its socket is called.
const (
	debugFolder = "ir-debug-"
	debugSocket = "plugin.sock"
)

// serveDebug serves whoever attaches, until SIGINT or SIGTERM; a second one ends it at once. It prints to out how to
// attach, and to log what is going on. Only the user who runs it can reach the socket: its folder is private.
func serveDebug(ctx context.Context, server *Server, out, log io.Writer) error {
	ctx, forget := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer forget()
	removeDead(filepath.Join(os.TempDir(), debugFolder+"*"))
	folder, err := os.MkdirTemp("", debugFolder)
	if err != nil {
		return fmt.Errorf("making a private folder for the socket; TMPDIR says where it may be: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // what is left is an empty folder
	listener, err := listen(filepath.Join(folder, debugSocket))
	if err != nil {
		return err
	}
	g := grpc.NewServer(ServerOptions()...)
	protocols()[0].register(g, server)
	grpc_health_v1.RegisterHealthServer(g, healthy())
	failed := make(chan error, 1)
	go func() { failed <- g.Serve(listener) }()

	fmt.Fprintln(out, attachLine(server.description.Facts.Name, listener.Addr().String()))
	fmt.Fprintln(log, "Waiting for an operator that is given the JSON by its "+EnvAttach+" or --attach-providers. Ctrl-C ends it.")
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	forget()
	// Nobody new comes in, and a second signal leaves nothing behind.
	_ = os.RemoveAll(folder)
	fmt.Fprintln(log, "Ending what runs.")
	server.drain(context.WithoutCancel(ctx))
	finish(g)
	return nil
}

// removeDead removes the folders of plugins that were killed, as debuggers do: those on whose socket nobody listens. One that
// is a moment old may not listen yet.
func removeDead(pattern string) {
	folders, _ := filepath.Glob(pattern)
	for _, folder := range folders {
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		conn, err := net.Dial("unix", filepath.Join(folder, debugSocket))
		if err == nil {
			_ = conn.Close()
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			// Somebody else's can't be removed, and needn't.
			_ = os.RemoveAll(folder)
		}
	}
}

func listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the socket's path would have %d characters, and %d is the most: set TMPDIR to a shorter folder", len(path), maxSocketPath)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on a socket in TMPDIR: %w", err)
	}
	return listener, nil
}

// healthy answers a host's pings.
func healthy() *health.Server {
	h := health.NewServer()
	h.SetServingStatus(goplugin.GRPCServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	return h
}

// attachLine is what a person puts into the host's environment, as a line of shell.
func attachLine(name, socket string) string {
	plugins := map[string]any{name: map[string]any{"protocol": Supported()[0], "pid": os.Getpid(), "socket": socket}}
	// Maps of strings and numbers always have a JSON.
	text, _ := json.Marshal(plugins)
	return fmt.Sprintf("%s='%s'", EnvAttach, strings.ReplaceAll(string(text), "'", `'\''`))
}
