// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// BuildRequestToWire converts on the way out.
func BuildRequestToWire(v provider.BuildRequest) *pb.BuildRequest {
	return &pb.BuildRequest{
		Cluster:     clusterToWire(v.Cluster),
		Action:      actions().toWire(v.Action),
		Version:     text(v.Version),
		Source:      text(v.Source),
		Variables:   values(v.Variables, rawToWire),
		Labels:      values(v.Labels, text),
		Credentials: CredentialsToWire(v.Credentials),
		State:       stateToWire(v.State),
		Folder:      text(v.Folder),
		PlanDigest:  text(v.PlanDigest),
		Plan:        secretToWire(v.Plan),
		Ledger:      list(v.Ledger, resourceToWire),
	}
}

// BuildRequestFromWire converts on the way in.
func BuildRequestFromWire(m *pb.BuildRequest) provider.BuildRequest {
	return provider.BuildRequest{
		Cluster:     clusterFromWire(m.GetCluster()),
		Action:      actions().fromWire(m.GetAction()),
		Version:     m.GetVersion(),
		Source:      m.GetSource(),
		Variables:   values(m.GetVariables(), rawFromWire),
		Labels:      values(m.GetLabels(), same),
		Credentials: CredentialsFromWire(m.GetCredentials()),
		State:       stateFromWire(m.GetState()),
		Folder:      m.GetFolder(),
		PlanDigest:  m.GetPlanDigest(),
		Plan:        secretFromWire(m.GetPlan()),
		Ledger:      list(m.GetLedger(), resourceFromWire),
	}
}

func stateToWire(v provider.State) *pb.State {
	return &pb.State{
		Host:      text(v.Host),
		Token:     secretToWire(v.Token),
		Ca:        v.CA,
		Namespace: text(v.Namespace),
		Suffix:    text(v.Suffix),
	}
}

func stateFromWire(m *pb.State) provider.State {
	return provider.State{
		Host:      m.GetHost(),
		Token:     secretFromWire(m.GetToken()),
		CA:        bytesOrNil(m.GetCa()),
		Namespace: m.GetNamespace(),
		Suffix:    m.GetSuffix(),
	}
}

// EventToWire converts on the way out.
func EventToWire(v provider.Event) *pb.Event {
	return &pb.Event{
		Kind:      eventKinds().toWire(v.Kind),
		Time:      timeToWire(v.Time),
		Address:   text(v.Address),
		Operation: operations().toWire(v.Operation),
		Message:   text(v.Message),
		Resource:  message(v.Resource, resourceToWire),
		Elapsed:   durationToWire(v.Elapsed),
	}
}

// EventFromWire converts on the way in.
func EventFromWire(m *pb.Event) provider.Event {
	return provider.Event{
		Kind:      eventKinds().fromWire(m.GetKind()),
		Time:      timeFromWire(m.GetTime()),
		Address:   m.GetAddress(),
		Operation: operations().fromWire(m.GetOperation()),
		Message:   m.GetMessage(),
		Resource:  maybe(m.GetResource(), resourceFromWire),
		Elapsed:   durationFromWire(m.GetElapsed()),
	}
}

func buildResultToWire(v provider.BuildResult) *pb.BuildResult {
	return &pb.BuildResult{
		Changes:    list(v.Changes, changeToWire),
		PlanDigest: text(v.PlanDigest),
		Plan:       secretToWire(v.Plan),
		Outputs:    values(v.Outputs, rawToWire),
		Resources:  list(v.Resources, resourceToWire),
		LeftBehind: list(v.LeftBehind, resourceToWire),
	}
}

func buildResultFromWire(m *pb.BuildResult) provider.BuildResult {
	return provider.BuildResult{
		Changes:    list(m.GetChanges(), changeFromWire),
		PlanDigest: m.GetPlanDigest(),
		Plan:       secretFromWire(m.GetPlan()),
		Outputs:    values(m.GetOutputs(), rawFromWire),
		Resources:  list(m.GetResources(), resourceFromWire),
		LeftBehind: list(m.GetLeftBehind(), resourceFromWire),
	}
}

func changeToWire(v provider.Change) *pb.Change {
	return &pb.Change{
		Address:   text(v.Address),
		Type:      text(v.Type),
		Operation: operations().toWire(v.Operation),
		Why:       text(v.Why),
	}
}

func changeFromWire(m *pb.Change) provider.Change {
	return provider.Change{
		Address:   m.GetAddress(),
		Type:      m.GetType(),
		Operation: operations().fromWire(m.GetOperation()),
		Why:       m.GetWhy(),
	}
}

// BuildEndToWire makes the end of a build's stream from what Build returned. The result travels with an error, too.
func BuildEndToWire(result provider.BuildResult, err error) *pb.BuildEnd {
	return &pb.BuildEnd{Result: buildResultToWire(result), Error: errorToWire(err)}
}

// BuildEndFromWire is what Build returned on the other side. Nil, a stream that was cut, is Unavailable.
func BuildEndFromWire(m *pb.BuildEnd) (provider.BuildResult, error) {
	if m == nil {
		return provider.BuildResult{}, provider.Errorf(provider.Unavailable,
			"the build was cut off before it said how it ended; it is called again and goes on from what is there")
	}
	if m.GetError() == nil {
		return buildResultFromWire(m.GetResult()), nil
	}
	err := errorFromWire(m.GetError())
	err.Kind = err.Kind.Row().Kind
	return buildResultFromWire(m.GetResult()), err
}
