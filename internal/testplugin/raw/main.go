// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command raw is the test plugin without the SDK. See package testplugin.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pb "darkshift.io/infrared/sdk/protocol/v1"
)

func main() {
	name := filepath.Base(os.Args[0])
	own := filepath.Join(os.Getenv(goplugin.EnvUnixSocketDir), "plugin1")
	switch name {
	case "prints-first":
		fmt.Println("hello from init")
		serve(name, 1)
	case "prints-bytes":
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("\x1b[31m\x00"), 1<<20/6))
		wait()
	case "forged":
		_, told := newCertificate()
		handshake(filepath.Join(os.TempDir(), "other.sock"), told)
		wait()
	case "forged-nobody":
		_, told := newCertificate()
		handshake(own, told)
		wait()
	case "forged-silent":
		_, told := newCertificate()
		listen(own)
		handshake(own, told)
		wait()
	case "handshake-exits":
		_, told := newCertificate()
		listen(own)
		handshake(own, told)
		os.Exit(4)
	case "silent":
		wait()
	case "exits":
		fmt.Fprintln(os.Stderr, "no region")
		os.Exit(1)
	case "touches":
		if err := os.WriteFile(os.Getenv("TOUCHES"), nil, 0o600); err != nil {
			fail(err)
		}
		fmt.Println("touched")
	case "wrong-version":
		serve(name, 2)
	case "ignores-sigterm":
		signal.Ignore(syscall.SIGTERM)
		serve(name, 1)
	case "forged-stranger":
		stranger(own)
	default:
		serve(name, 1, 2)
	}
}

// handshake says where a plugin would be.
func handshake(address, certificate string) {
	fmt.Printf("1|1|unix|%s|grpc|%s\n", address, certificate)
}

// listen accepts everybody and says nothing.
func listen(path string) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		fail(err)
	}
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
		}
	}()
}

func wait() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serve is a plugin over go-plugin alone, in some versions of the protocol.
func serve(name string, versions ...int) {
	sets := map[int]goplugin.PluginSet{}
	for _, v := range versions {
		sets[v] = goplugin.PluginSet{"provider": &service{name: name}}
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: "INFRARED_PLUGIN", MagicCookieValue: "provider.infrared.darkshift.io"},
		VersionedPlugins: sets,
		GRPCServer:       goplugin.DefaultGRPCServer,
	})
}

// service has two verbs, and is the same in all versions.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
	pb.UnimplementedProviderServiceServer
	name string
}

func (s *service) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error { //nolint:unparam // an interface of go-plugin
	pb.RegisterProviderServiceServer(g, s)
	return nil
}

func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (s *service) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	if s.name == "late-exit" {
		os.Exit(4)
	}
	return &pb.DescribeResponse{Facts: &pb.Facts{Name: "toy", Version: "v0.1.0"}}, nil
}

func (s *service) Connect(_ context.Context, req *pb.ConnectRequest) (*pb.ConnectResponse, error) {
	return &pb.ConnectResponse{Connection: &pb.Connection{Version: "v1.33.0"}}, nil
}
