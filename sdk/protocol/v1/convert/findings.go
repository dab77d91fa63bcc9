// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// SnapshotRequestToWire converts on the way out.
func SnapshotRequestToWire(v provider.SnapshotRequest) *pb.SnapshotRequest {
	return &pb.SnapshotRequest{
		Cluster:     clusterToWire(v.Cluster),
		Identity:    clusterIdentityToWire(v.Identity),
		Credentials: CredentialsToWire(v.Credentials),
		Endpoint:    message(v.Endpoint, endpointToWire),
		Disks:       list(v.Disks, diskToWire),
		Time:        timeToWire(v.Time),
	}
}

// SnapshotRequestFromWire converts on the way in.
func SnapshotRequestFromWire(m *pb.SnapshotRequest) provider.SnapshotRequest {
	return provider.SnapshotRequest{
		Cluster:     clusterFromWire(m.GetCluster()),
		Identity:    clusterIdentityFromWire(m.GetIdentity()),
		Credentials: CredentialsFromWire(m.GetCredentials()),
		Endpoint:    maybe(m.GetEndpoint(), endpointFromWire),
		Disks:       list(m.GetDisks(), diskFromWire),
		Time:        timeFromWire(m.GetTime()),
	}
}

func diskToWire(v provider.Disk) *pb.Disk {
	return &pb.Disk{
		Volume:    text(v.Volume),
		Claim:     text(v.Claim),
		Driver:    text(v.Driver),
		Handle:    text(v.Handle),
		SizeBytes: v.SizeBytes,
		Zone:      text(v.Zone),
	}
}

func diskFromWire(m *pb.Disk) provider.Disk {
	return provider.Disk{
		Volume:    m.GetVolume(),
		Claim:     m.GetClaim(),
		Driver:    m.GetDriver(),
		Handle:    m.GetHandle(),
		SizeBytes: m.GetSizeBytes(),
		Zone:      m.GetZone(),
	}
}

func snapshotToWire(v provider.Snapshot) *pb.Snapshot {
	return &pb.Snapshot{
		Disk:     diskToWire(v.Disk),
		State:    snapshotStates().toWire(v.State),
		Why:      text(v.Why),
		Resource: message(v.Resource, resourceToWire),
		Restore:  text(v.Restore),
	}
}

func snapshotFromWire(m *pb.Snapshot) provider.Snapshot {
	return provider.Snapshot{
		Disk:     diskFromWire(m.GetDisk()),
		State:    snapshotStates().fromWire(m.GetState()),
		Why:      m.GetWhy(),
		Resource: maybe(m.GetResource(), resourceFromWire),
		Restore:  m.GetRestore(),
	}
}

// ConfirmRequestToWire converts on the way out.
func ConfirmRequestToWire(v provider.ConfirmRequest) *pb.ConfirmRequest {
	return &pb.ConfirmRequest{
		Cluster:     clusterToWire(v.Cluster),
		Identity:    clusterIdentityToWire(v.Identity),
		Credentials: CredentialsToWire(v.Credentials),
		Recorded:    list(v.Recorded, resourceToWire),
	}
}

// ConfirmRequestFromWire converts on the way in.
func ConfirmRequestFromWire(m *pb.ConfirmRequest) provider.ConfirmRequest {
	return provider.ConfirmRequest{
		Cluster:     clusterFromWire(m.GetCluster()),
		Identity:    clusterIdentityFromWire(m.GetIdentity()),
		Credentials: CredentialsFromWire(m.GetCredentials()),
		Recorded:    list(m.GetRecorded(), resourceFromWire),
	}
}

// SweepRequestToWire converts on the way out.
func SweepRequestToWire(v provider.SweepRequest) *pb.SweepRequest {
	return &pb.SweepRequest{
		Cluster:     clusterToWire(v.Cluster),
		Identity:    clusterIdentityToWire(v.Identity),
		Credentials: CredentialsToWire(v.Credentials),
		Recorded:    list(v.Recorded, resourceToWire),
	}
}

// SweepRequestFromWire converts on the way in.
func SweepRequestFromWire(m *pb.SweepRequest) provider.SweepRequest {
	return provider.SweepRequest{
		Cluster:     clusterFromWire(m.GetCluster()),
		Identity:    clusterIdentityFromWire(m.GetIdentity()),
		Credentials: CredentialsFromWire(m.GetCredentials()),
		Recorded:    list(m.GetRecorded(), resourceFromWire),
	}
}

// FindingsToWire converts on the way out.
func FindingsToWire(v provider.Findings) *pb.Findings {
	return &pb.Findings{
		Present:   list(v.Present, findingToWire),
		Absent:    list(v.Absent, findingToWire),
		Unknown:   list(v.Unknown, findingToWire),
		Backups:   list(v.Backups, findingToWire),
		NotLooked: list(v.NotLooked, notLookedToWire),
	}
}

// FindingsFromWire converts on the way in.
func FindingsFromWire(m *pb.Findings) provider.Findings {
	return provider.Findings{
		Present:   list(m.GetPresent(), findingFromWire),
		Absent:    list(m.GetAbsent(), findingFromWire),
		Unknown:   list(m.GetUnknown(), findingFromWire),
		Backups:   list(m.GetBackups(), findingFromWire),
		NotLooked: list(m.GetNotLooked(), notLookedFromWire),
	}
}

func findingToWire(v provider.Finding) *pb.Finding {
	return &pb.Finding{
		Resource: resourceToWire(v.Resource),
		Why:      text(v.Why),
		State:    text(v.State),
	}
}

func findingFromWire(m *pb.Finding) provider.Finding {
	return provider.Finding{
		Resource: resourceFromWire(m.GetResource()),
		Why:      m.GetWhy(),
		State:    m.GetState(),
	}
}

// SnapshotsToWire converts on the way out.
func SnapshotsToWire(v []provider.Snapshot) *pb.SnapshotResponse {
	return &pb.SnapshotResponse{Snapshots: list(v, snapshotToWire)}
}

// SnapshotsFromWire converts on the way in.
func SnapshotsFromWire(m *pb.SnapshotResponse) []provider.Snapshot {
	return list(m.GetSnapshots(), snapshotFromWire)
}
