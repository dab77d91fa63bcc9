// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// enum pairs the values of an enumeration here with those on the wire. What is in no pair becomes the zero value.
type enum[G, W comparable] []enumPair[G, W]

type enumPair[G, W comparable] struct {
	here G
	wire W
}

func (e enum[G, W]) toWire(here G) (wire W) {
	for _, pair := range e {
		if pair.here == here {
			return pair.wire
		}
	}
	return wire
}

func (e enum[G, W]) fromWire(wire W) (here G) {
	for _, pair := range e {
		if pair.wire == wire {
			return pair.here
		}
	}
	return here
}

func capabilities() enum[provider.Capability, pb.Capability] {
	return enum[provider.Capability, pb.Capability]{
		{provider.CapabilityAccounts, pb.Capability_CAPABILITY_ACCOUNTS},
	}
}

func proofs() enum[provider.Proof, pb.Proof] {
	return enum[provider.Proof, pb.Proof]{
		{provider.ProofRecorded, pb.Proof_PROOF_RECORDED},
		{provider.ProofLabel, pb.Proof_PROOF_LABEL},
		{provider.ProofName, pb.Proof_PROOF_NAME},
	}
}

func roles() enum[provider.Role, pb.Role] {
	return enum[provider.Role, pb.Role]{
		{provider.RoleSafetySnapshot, pb.Role_ROLE_SAFETY_SNAPSHOT},
	}
}

func actions() enum[provider.Action, pb.Action] {
	return enum[provider.Action, pb.Action]{
		{provider.ActionPlan, pb.Action_ACTION_PLAN},
		{provider.ActionApply, pb.Action_ACTION_APPLY},
		{provider.ActionDestroy, pb.Action_ACTION_DESTROY},
	}
}

func eventKinds() enum[provider.EventKind, pb.EventKind] {
	return enum[provider.EventKind, pb.EventKind]{
		{provider.EventMessage, pb.EventKind_EVENT_KIND_MESSAGE},
		{provider.EventWarning, pb.EventKind_EVENT_KIND_WARNING},
		{provider.EventPlanned, pb.EventKind_EVENT_KIND_PLANNED},
		{provider.EventStarted, pb.EventKind_EVENT_KIND_STARTED},
		{provider.EventDone, pb.EventKind_EVENT_KIND_DONE},
		{provider.EventFailed, pb.EventKind_EVENT_KIND_FAILED},
	}
}

func operations() enum[provider.Operation, pb.Operation] {
	return enum[provider.Operation, pb.Operation]{
		{provider.OperationCreate, pb.Operation_OPERATION_CREATE},
		{provider.OperationRead, pb.Operation_OPERATION_READ},
		{provider.OperationUpdate, pb.Operation_OPERATION_UPDATE},
		{provider.OperationReplace, pb.Operation_OPERATION_REPLACE},
		{provider.OperationDelete, pb.Operation_OPERATION_DELETE},
	}
}

func snapshotStates() enum[provider.SnapshotState, pb.SnapshotState] {
	return enum[provider.SnapshotState, pb.SnapshotState]{
		{provider.SnapshotPending, pb.SnapshotState_SNAPSHOT_STATE_PENDING},
		{provider.SnapshotReady, pb.SnapshotState_SNAPSHOT_STATE_READY},
		{provider.SnapshotFailed, pb.SnapshotState_SNAPSHOT_STATE_FAILED},
		{provider.SnapshotUnsupported, pb.SnapshotState_SNAPSHOT_STATE_UNSUPPORTED},
	}
}

func purposes() enum[provider.Purpose, pb.Purpose] {
	return enum[provider.Purpose, pb.Purpose]{
		{provider.PurposeLook, pb.Purpose_PURPOSE_LOOK},
		{provider.PurposeSnapshot, pb.Purpose_PURPOSE_SNAPSHOT},
		{provider.PurposeBuild, pb.Purpose_PURPOSE_BUILD},
	}
}

func errorKinds() enum[provider.ErrorKind, pb.ErrorKind] {
	return enum[provider.ErrorKind, pb.ErrorKind]{
		{provider.Invalid, pb.ErrorKind_ERROR_KIND_INVALID},
		{provider.Unauthenticated, pb.ErrorKind_ERROR_KIND_UNAUTHENTICATED},
		{provider.Denied, pb.ErrorKind_ERROR_KIND_DENIED},
		{provider.Quota, pb.ErrorKind_ERROR_KIND_QUOTA},
		{provider.Conflict, pb.ErrorKind_ERROR_KIND_CONFLICT},
		{provider.Unavailable, pb.ErrorKind_ERROR_KIND_UNAVAILABLE},
		{provider.Unsupported, pb.ErrorKind_ERROR_KIND_UNSUPPORTED},
		{provider.Other, pb.ErrorKind_ERROR_KIND_OTHER},
	}
}
