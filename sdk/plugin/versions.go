// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pb "darkshift.io/infrared/sdk/protocol/v1"
)

// protocol is one version of the wire.
type protocol struct {
	number int
	// register puts the version's service in front of a server.
	register func(grpc.ServiceRegistrar, *Server)
}

// protocols are the versions that this SDK speaks, newest first: the current one and the one before it. Within a version
// fields, calls and values are only added, and a side that does not know them goes on without.
func protocols() []protocol {
	return []protocol{
		{number: 1, register: func(r grpc.ServiceRegistrar, s *Server) { pb.RegisterProviderServiceServer(r, s) }},
	}
}

// Supported lists the protocol versions that this SDK speaks, newest first. Host and plugin use the newest that both have.
func Supported() []int {
	var numbers []int
	for _, p := range protocols() {
		numbers = append(numbers, p.number)
	}
	return numbers
}

// served makes go-plugin's table of what is served in which version.
func served(versions []protocol, s *Server) map[int]goplugin.PluginSet {
	sets := map[int]goplugin.PluginSet{}
	for _, p := range versions {
		sets[p.number] = goplugin.PluginSet{pluginName: &service{register: func(r grpc.ServiceRegistrar) { p.register(r, s) }}}
	}
	return sets
}

// service is the provider in one version, as go-plugin wants it.
type service struct {
	goplugin.NetRPCUnsupportedPlugin
	register func(grpc.ServiceRegistrar)
}

// GRPCServer is called by go-plugin when it has agreed on this version with the host.
func (s *service) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	s.register(g)
	return nil
}

// GRPCClient is the host's side, which takes the connection itself.
func (s *service) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("the host uses the connection itself")
}
