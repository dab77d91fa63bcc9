// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// hosted is a plugin that a host started.
type hosted struct {
	server *Server
	// grpc is what go-plugin serves on; nil before.
	grpc atomic.Pointer[grpc.Server]
	// drained makes the one who comes second wait for the first.
	drained sync.Once
	// served is closed when go-plugin has returned.
	served chan struct{}
}

// serveHost serves the host that started the program, until that ends it or goes away. The handshake goes to out.
func serveHost(ctx context.Context, server *Server, versions []protocol, out *os.File) error {
	settleIn()
	gone, err := watchParent()
	if err != nil {
		return err
	}
	h := &hosted{server: server, served: make(chan struct{})}
	// Before anything is printed: a host that was killed no longer reads it, which would end this program at its next line.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go h.leave(ctx, gone, term)
	certificate, tlsConfig, err := serverIdentity(os.Getenv(clientCertEnv))
	if err != nil {
		return err
	}
	output, err := takeOutput(out, certificate)
	if err != nil {
		return err
	}
	// go-plugin logs what kept it from serving; the time of day would make the same fault look new each time.
	logger := hclog.New(&hclog.LoggerOptions{Name: "plugin", Level: hclog.Error, Output: os.Stderr, DisableTime: true})
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: served(versions, server),
		Logger:           logger,
		TLSProvider: func() (*tls.Config, error) {
			if out == nil {
				// The handshake does not pass through here, so go-plugin makes a certificate of its own where one is wanted.
				return nil, nil
			}
			return tlsConfig, nil
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			g := grpc.NewServer(append(append(opts, ServerOptions()...), onFirstCall(func() {
				output.restore()
				forgetHost()
			})...)...)
			h.grpc.Store(g)
			return g
		},
	})
	close(h.served)
	// A host that knows only go-plugin has cut the connection by now: what ran sees its context end, and may still tidy up.
	h.drain(ctx)
	// A host that was killed can't do this.
	endOwnFamily()
	if h.grpc.Load() == nil {
		return errors.New("the plugin could not begin to serve; the line before says why")
	}
	return nil
}

func (h *hosted) drain(ctx context.Context) { h.drained.Do(func() { h.server.drain(ctx) }) }

// leave waits for the host's end or for SIGTERM, and ends the plugin in order.
func (h *hosted) leave(ctx context.Context, gone <-chan struct{}, term <-chan os.Signal) {
	end := (*grpc.Server).Stop
	select {
	case <-gone:
		// Nobody reads answers any more, or the host has all that it waited for.
	case <-term:
		end = finish
	}
	h.drain(ctx)
	if g := h.grpc.Load(); g != nil {
		end(g)
	}
	select {
	case <-h.served:
	case <-time.After(flush):
		// It had not begun to serve, and must not begin now.
		os.Exit(exitDone)
	}
}

// onFirstCall runs something once, before the first call is answered.
func onFirstCall(run func()) []grpc.ServerOption {
	var once sync.Once
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			once.Do(run)
			return handle(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			once.Do(run)
			return handle(srv, stream)
		}),
	}
}

// forgetHost takes what was between host and plugin out of the environment, or a program that the plugin starts, perhaps
// itself, would take itself for a plugin of that host.
func forgetHost() {
	for _, name := range []string{
		MagicCookieKey, clientCertEnv, "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT",
		"PLUGIN_MULTIPLEX_GRPC", goplugin.EnvUnixSocketDir, goplugin.EnvUnixSocketGroup,
	} {
		_ = os.Unsetenv(name)
	}
}
