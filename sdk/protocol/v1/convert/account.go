// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// AccountToWire converts on the way out.
func AccountToWire(v provider.Account) *pb.Account {
	return &pb.Account{
		Name:       text(v.Name),
		Org:        text(v.Org),
		Id:         text(v.ID),
		Role:       text(v.Role),
		ExternalId: secretToWire(v.ExternalID),
		Region:     text(v.Region),
		Token:      secretToWire(v.Token),
		Stored:     CredentialsToWire(v.Stored),
	}
}

// AccountFromWire converts on the way in.
func AccountFromWire(m *pb.Account) provider.Account {
	return provider.Account{
		Name:       m.GetName(),
		Org:        m.GetOrg(),
		ID:         m.GetId(),
		Role:       m.GetRole(),
		ExternalID: secretFromWire(m.GetExternalId()),
		Region:     m.GetRegion(),
		Token:      secretFromWire(m.GetToken()),
		Stored:     CredentialsFromWire(m.GetStored()),
	}
}

// IdentityToWire converts on the way out.
func IdentityToWire(v provider.Identity) *pb.Identity {
	return &pb.Identity{
		Account:   text(v.Account),
		Principal: text(v.Principal),
		Missing:   list(v.Missing, text),
		NotLooked: list(v.NotLooked, notLookedToWire),
	}
}

// IdentityFromWire converts on the way in.
func IdentityFromWire(m *pb.Identity) provider.Identity {
	return provider.Identity{
		Account:   m.GetAccount(),
		Principal: m.GetPrincipal(),
		Missing:   list(m.GetMissing(), same),
		NotLooked: list(m.GetNotLooked(), notLookedFromWire),
	}
}

// CredentialsToWire converts on the way out.
func CredentialsToWire(v provider.Credentials) *pb.Credentials {
	return &pb.Credentials{
		Values: values(v.Values, secretToWire),
		Folder: text(v.Folder),
		Expiry: timeToWire(v.Expiry),
	}
}

// CredentialsFromWire converts on the way in.
func CredentialsFromWire(m *pb.Credentials) provider.Credentials {
	return provider.Credentials{
		Values: values(m.GetValues(), secretFromWire),
		Folder: m.GetFolder(),
		Expiry: timeFromWire(m.GetExpiry()),
	}
}

// MintRequestToWire converts on the way out; on the wire the account is part of the request.
func MintRequestToWire(account provider.Account, v provider.MintRequest) *pb.MintRequest {
	return &pb.MintRequest{
		Account:  AccountToWire(account),
		Cluster:  clusterToWire(v.Cluster),
		Purpose:  purposes().toWire(v.Purpose),
		Lifetime: durationToWire(v.Lifetime),
	}
}

// MintRequestFromWire converts on the way in.
func MintRequestFromWire(m *pb.MintRequest) (provider.Account, provider.MintRequest) {
	return AccountFromWire(m.GetAccount()), provider.MintRequest{
		Cluster:  clusterFromWire(m.GetCluster()),
		Purpose:  purposes().fromWire(m.GetPurpose()),
		Lifetime: durationFromWire(m.GetLifetime()),
	}
}
