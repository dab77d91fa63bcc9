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

// The reasons of Healthy, the condition of a Provider.
const (
	ReasonHealthy  = "Healthy"
	ReasonStarting = "Starting"
	ReasonAttached = "Attached"
)

// The reasons of Healthy where a plugin could not be started.
const (
	ReasonBinaryMissing    = "BinaryMissing"
	ReasonChecksumMismatch = "ChecksumMismatch"
	ReasonNotExecutable    = "NotExecutable"
	ReasonPrintsFirst      = "PrintsFirst"
	ReasonForgedHandshake  = "ForgedHandshake"
	ReasonVersionMismatch  = "VersionMismatch"
	ReasonCrashedAtStart   = "CrashedAtStart"
	ReasonSilent           = "Silent"
	ReasonFactsInvalid     = "FactsInvalid"
	ReasonNoSocketFolder   = "NoSocketFolder"
	ReasonStartFailed      = "StartFailed"
)

// The reasons of Healthy where a plugin ran and does no longer.
const (
	ReasonCrashed    = "Crashed"
	ReasonHung       = "Hung"
	ReasonRestarting = "Restarting"
)

// The reasons of Healthy that are about the Provider and not its plugin.
const (
	ReasonNameTaken       = "NameTaken"
	ReasonProviderChanged = "ProviderChanged"
	ReasonInUse           = "InUse"
	ReasonStopped         = "Stopped"
)

// The reasons of Connected when a call of a plugin has failed: one a kind of error, and one for a plugin that does not run.
const (
	ReasonInvalidSpec         = "InvalidSpec"
	ReasonBadCredentials      = "BadCredentials"
	ReasonPermissionDenied    = "PermissionDenied"
	ReasonQuotaExceeded       = "QuotaExceeded"
	ReasonBusy                = "Busy"
	ReasonCloudUnavailable    = "CloudUnavailable"
	ReasonUnsupported         = "Unsupported"
	ReasonProviderFailed      = "ProviderFailed"
	ReasonProviderUnavailable = "ProviderUnavailable"
)

// The reasons of an OpenTofu run, in status.run, and of Connected while it keeps the cluster from being there. Those of a plugin's error
// above are reasons of a run as well.
const (
	ReasonBuilding              = "Building"
	ReasonWaitingForCredentials = "WaitingForCredentials"
	ReasonStateLocked           = "StateLocked"
	ReasonPlanChanged           = "PlanChanged"
	ReasonApprovalNeeded        = "ApprovalNeeded"
	ReasonInterrupted           = "Interrupted"
	ReasonRunLost               = "RunLost"
	ReasonStartRefused          = "StartRefused"
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
	{Name: ReasonHealthy, Good: true},
	{Name: ReasonStarting, Good: true},
	{Name: ReasonAttached},
	{Name: ReasonBinaryMissing},
	{Name: ReasonChecksumMismatch},
	{Name: ReasonNotExecutable},
	{Name: ReasonPrintsFirst},
	{Name: ReasonForgedHandshake},
	{Name: ReasonVersionMismatch},
	{Name: ReasonCrashedAtStart},
	{Name: ReasonSilent},
	{Name: ReasonFactsInvalid},
	{Name: ReasonNoSocketFolder},
	{Name: ReasonStartFailed},
	{Name: ReasonCrashed},
	{Name: ReasonHung},
	{Name: ReasonRestarting},
	{Name: ReasonNameTaken},
	{Name: ReasonProviderChanged},
	{Name: ReasonInUse},
	{Name: ReasonStopped},
	{Name: ReasonInvalidSpec},
	{Name: ReasonBadCredentials},
	{Name: ReasonPermissionDenied},
	{Name: ReasonQuotaExceeded},
	{Name: ReasonBusy},
	{Name: ReasonCloudUnavailable},
	{Name: ReasonUnsupported},
	{Name: ReasonProviderFailed},
	{Name: ReasonProviderUnavailable},
	{Name: ReasonBuilding, Good: true},
	{Name: ReasonWaitingForCredentials},
	{Name: ReasonStateLocked},
	{Name: ReasonPlanChanged},
	{Name: ReasonApprovalNeeded},
	{Name: ReasonInterrupted},
	{Name: ReasonRunLost},
	{Name: ReasonStartRefused},
}
