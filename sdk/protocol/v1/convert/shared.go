// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

func clusterToWire(v provider.Cluster) *pb.Cluster {
	return &pb.Cluster{
		Name:        text(v.Name),
		Incarnation: text(v.Incarnation),
		Org:         text(v.Org),
		Region:      text(v.Region),
		Template:    text(v.Template),
	}
}

func clusterFromWire(m *pb.Cluster) provider.Cluster {
	return provider.Cluster{
		Name:        m.GetName(),
		Incarnation: m.GetIncarnation(),
		Org:         m.GetOrg(),
		Region:      m.GetRegion(),
		Template:    m.GetTemplate(),
	}
}

func clusterIdentityToWire(v provider.ClusterIdentity) *pb.ClusterIdentity {
	return &pb.ClusterIdentity{
		KubeSystemUid: text(v.KubeSystemUID),
		CloudId:       text(v.CloudID),
		Account:       text(v.Account),
		Network:       text(v.Network),
		OidcIssuer:    text(v.OIDCIssuer),
		Traits:        values(v.Traits, stringsToWire),
	}
}

func clusterIdentityFromWire(m *pb.ClusterIdentity) provider.ClusterIdentity {
	return provider.ClusterIdentity{
		KubeSystemUID: m.GetKubeSystemUid(),
		CloudID:       m.GetCloudId(),
		Account:       m.GetAccount(),
		Network:       m.GetNetwork(),
		OIDCIssuer:    m.GetOidcIssuer(),
		Traits:        values(m.GetTraits(), stringsFromWire),
	}
}

func endpointToWire(v provider.Endpoint) *pb.Endpoint {
	return &pb.Endpoint{
		Server:            text(v.Server),
		TlsServerName:     text(v.TLSServerName),
		Ca:                v.CA,
		Token:             secretToWire(v.Token),
		ClientCertificate: v.ClientCertificate,
		ClientKey:         secretToWire(v.ClientKey),
		Expiry:            timeToWire(v.Expiry),
	}
}

func endpointFromWire(m *pb.Endpoint) provider.Endpoint {
	return provider.Endpoint{
		Server:            m.GetServer(),
		TLSServerName:     m.GetTlsServerName(),
		CA:                bytesOrNil(m.GetCa()),
		Token:             secretFromWire(m.GetToken()),
		ClientCertificate: bytesOrNil(m.GetClientCertificate()),
		ClientKey:         secretFromWire(m.GetClientKey()),
		Expiry:            timeFromWire(m.GetExpiry()),
	}
}

func resourceToWire(v provider.Resource) *pb.Resource {
	return &pb.Resource{
		Kind:           text(v.Kind),
		Id:             text(v.ID),
		Name:           text(v.Name),
		Location:       text(v.Location),
		Account:        text(v.Account),
		Proof:          proofs().toWire(v.Proof),
		Why:            text(v.Why),
		Role:           roles().toWire(v.Role),
		HourlyMicroUsd: pointer(v.Hourly, usdToWire),
		ConsoleUrl:     text(v.ConsoleURL),
	}
}

func resourceFromWire(m *pb.Resource) provider.Resource {
	return provider.Resource{
		Kind:       m.GetKind(),
		ID:         m.GetId(),
		Name:       m.GetName(),
		Location:   m.GetLocation(),
		Account:    m.GetAccount(),
		Proof:      proofs().fromWire(m.GetProof()),
		Why:        m.GetWhy(),
		Role:       roles().fromWire(m.GetRole()),
		Hourly:     optionalUSD(m, func(m *pb.Resource) *int64 { return m.HourlyMicroUsd }),
		ConsoleURL: m.GetConsoleUrl(),
	}
}

func notLookedToWire(v provider.NotLooked) *pb.NotLooked {
	return &pb.NotLooked{
		What:  text(v.What),
		Where: text(v.Where),
		Why:   text(v.Why),
	}
}

func notLookedFromWire(m *pb.NotLooked) provider.NotLooked {
	return provider.NotLooked{
		What:  m.GetWhat(),
		Where: m.GetWhere(),
		Why:   m.GetWhy(),
	}
}
func stringsToWire(v []string) *pb.Strings { return &pb.Strings{Values: list(v, text)} }

func stringsFromWire(m *pb.Strings) []string { return list(m.GetValues(), same) }
