// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"maps"
	"slices"
	"time"
)

// Credentials are what a cloud lets somebody in with. They print without their values.
type Credentials struct {
	// Values are by the names of environment variables, such as AWS_ACCESS_KEY_ID, AWS_REGION, GOOGLE_OAUTH_ACCESS_TOKEN
	// and GIT_TOKEN: the keys of the Secret cluster-<name>-credentials.
	Values map[string]Secret
	// Folder is an absolute path to a folder with one file a value, which the host keeps fresh while a build runs longer
	// than the values are valid; empty: Values is all there is.
	Folder string
	// Expiry is when they end; zero: they do not, or nothing tells.
	Expiry time.Time
}

// Names lists what there is, sorted, for messages that say what is missing.
func (c Credentials) Names() []string { return slices.Sorted(maps.Keys(c.Values)) }

// IsZero says that there are none.
func (c Credentials) IsZero() bool { return len(c.Values) == 0 && c.Folder == "" }

// Account is a cloud account that is reached through a role.
type Account struct {
	// Name is the CloudAccount's metadata.name, Org the org whose it is.
	Name, Org string
	// ID is the AWS account, Google project or Linode account.
	ID string
	// Role is what to act as: an AWS role's ARN, a Google service account's address. Empty for a cloud without roles.
	Role string
	// ExternalID is what an AWS role's trust policy asks for, made by the host; empty where it asks for none.
	ExternalID Secret
	// Region is where to begin; empty: the provider's own choice.
	Region string
	// Token is the host's own identity, a ServiceAccount token for the audience that the cloud wants; empty where the host
	// is known to the cloud by other means.
	Token Secret
	// Stored are the credentials of a cloud that has no roles, and nothing else.
	Stored Credentials
}

// Identity is who an account's role turned out to be.
type Identity struct {
	// Account is the AWS account, Google project number or Linode account that the role acts in. The host refuses an
	// account whose ID this is not.
	Account string
	// Principal is who the role is: an ARN, an address, a user name.
	Principal string
	// Missing are the rights that the verbs need and the role lacks, in the cloud's words, sorted.
	Missing []string
	// NotLooked is what could not be found out about it.
	NotLooked []NotLooked
}

// Purpose is what credentials are for.
type Purpose string

// The purposes, from the narrowest to the widest.
const (
	// PurposeLook: Connect, Confirm and Sweep, which write nothing to the cloud.
	PurposeLook Purpose = "Look"
	// PurposeSnapshot: Snapshot.
	PurposeSnapshot Purpose = "Snapshot"
	// PurposeBuild: Build.
	PurposeBuild Purpose = "Build"
)

// MintRequest asks for credentials.
type MintRequest struct {
	Cluster Cluster
	Purpose Purpose
	// Lifetime is how long they should be valid; zero: the cloud's default.
	Lifetime time.Duration
}
