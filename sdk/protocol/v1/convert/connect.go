// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"net/netip"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// ConnectRequestToWire converts on the way out.
func ConnectRequestToWire(v provider.ConnectRequest) *pb.ConnectRequest {
	return &pb.ConnectRequest{
		Cluster:          clusterToWire(v.Cluster),
		Endpoint:         message(v.Endpoint, endpointToWire),
		Outputs:          values(v.Outputs, rawToWire),
		Credentials:      CredentialsToWire(v.Credentials),
		PrivateAddresses: v.PrivateAddresses,
		RenewToken:       durationToWire(v.RenewToken),
		Allow:            list(v.Allow, netip.Prefix.String),
	}
}

// ConnectRequestFromWire converts on the way in.
func ConnectRequestFromWire(m *pb.ConnectRequest) provider.ConnectRequest {
	return provider.ConnectRequest{
		Cluster:          clusterFromWire(m.GetCluster()),
		Endpoint:         maybe(m.GetEndpoint(), endpointFromWire),
		Outputs:          values(m.GetOutputs(), rawFromWire),
		Credentials:      CredentialsFromWire(m.GetCredentials()),
		PrivateAddresses: m.GetPrivateAddresses(),
		RenewToken:       durationFromWire(m.GetRenewToken()),
		Allow:            prefixesFromWire(m.GetAllow()),
	}
}

// ConnectionToWire converts on the way out.
func ConnectionToWire(v provider.Connection) *pb.Connection {
	return &pb.Connection{
		Endpoint:  endpointToWire(v.Endpoint),
		Version:   text(v.Version),
		Nodes:     message(v.Nodes, nodesToWire),
		Region:    text(v.Region),
		Identity:  clusterIdentityToWire(v.Identity),
		Holds:     list(v.Holds, resourceToWire),
		NotLooked: list(v.NotLooked, notLookedToWire),
	}
}

// ConnectionFromWire converts on the way in.
func ConnectionFromWire(m *pb.Connection) provider.Connection {
	return provider.Connection{
		Endpoint:  endpointFromWire(m.GetEndpoint()),
		Version:   m.GetVersion(),
		Nodes:     maybe(m.GetNodes(), nodesFromWire),
		Region:    m.GetRegion(),
		Identity:  clusterIdentityFromWire(m.GetIdentity()),
		Holds:     list(m.GetHolds(), resourceFromWire),
		NotLooked: list(m.GetNotLooked(), notLookedFromWire),
	}
}

func nodesToWire(v provider.Nodes) *pb.Nodes {
	return &pb.Nodes{
		Ready: v.Ready,
		Total: v.Total,
	}
}

func nodesFromWire(m *pb.Nodes) provider.Nodes {
	return provider.Nodes{
		Ready: m.GetReady(),
		Total: m.GetTotal(),
	}
}
