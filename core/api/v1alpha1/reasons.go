// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reason is the reason of a condition, or of a state of a step. Each has a page docs/runbooks/<Reason>.md, which a test compares
// with Reasons, save the ones that say that all is well.
type Reason struct {
	// Name as it stands in the condition.
	Name string
	// Good is true where nobody has anything to do.
	Good bool
}

// The reasons of Connected.
const (
	ReasonConnected          = "Connected"
	ReasonConnecting         = "Connecting"
	ReasonLimitedAccess      = "LimitedAccess"
	ReasonReplacementRefused = "ReplacementRefused"
	ReasonKubeconfigMissing  = "KubeconfigMissing"
	ReasonKubeconfigInvalid  = "KubeconfigInvalid"
	ReasonKubeconfigTaken    = "KubeconfigTaken"
	ReasonAddressRefused     = "AddressRefused"
	ReasonUnreachable        = "Unreachable"
	ReasonCertificateInvalid = "CertificateInvalid"
	ReasonUnauthorized       = "Unauthorized"
	ReasonNotKubernetes      = "NotKubernetes"
	ReasonIdentityChanged    = "IdentityChanged"
	ReasonAlreadyRegistered  = "AlreadyRegistered"
	ReasonNotBuilt           = "NotBuilt"
	ReasonAlreadyDeleted     = "AlreadyDeleted"
	ReasonIncarnationInUse   = "IncarnationInUse"
)

// The reasons of Registered.
const (
	ReasonNotConnected     = "NotConnected"
	ReasonArgoSecretTaken  = "ArgoSecretTaken"
	ReasonArgoNotInstalled = "ArgoNotInstalled"
	ReasonAppOfAppsMissing = "AppOfAppsMissing"
)

// Reasons is the one table of reasons.
var Reasons = []Reason{
	{Name: ReasonConnected, Good: true},
	{Name: ReasonConnecting, Good: true},
	{Name: ReasonLimitedAccess},
	{Name: ReasonReplacementRefused},
	{Name: ReasonKubeconfigMissing},
	{Name: ReasonKubeconfigInvalid},
	{Name: ReasonKubeconfigTaken},
	{Name: ReasonAddressRefused},
	{Name: ReasonUnreachable},
	{Name: ReasonCertificateInvalid},
	{Name: ReasonUnauthorized},
	{Name: ReasonNotKubernetes},
	{Name: ReasonIdentityChanged},
	{Name: ReasonAlreadyRegistered},
	{Name: ReasonNotBuilt},
	{Name: ReasonAlreadyDeleted},
	{Name: ReasonIncarnationInUse},
	{Name: ReasonNotConnected},
	{Name: ReasonArgoSecretTaken},
	{Name: ReasonArgoNotInstalled},
	{Name: ReasonAppOfAppsMissing},
	{Name: string(StepWaitingOnYou)},
	{Name: string(StepStuck)},
	{Name: string(StepFailed)},
}
