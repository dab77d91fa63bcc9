// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// Config says what is tested, and in which worlds.
type Config struct {
	// Facts are what the plugin's main gives to Serve. With Binary they are asked of the program.
	Facts provider.Facts
	// Binary is the absolute path of the compiled plugin; empty: World sets World.Provider.
	Binary string
	// Env is the environment of Binary.
	Env []string
	// World makes a new world for one check. Checks run one after another.
	World func(ctx context.Context) (*World, error)
	// Soon is how long after the end of its context a verb may still run; 0: 5 s.
	Soon time.Duration
	// Patience is how long to wait for the cloud until something has settled; 0: 1 min. Pace is how often to ask; 0: 1 s.
	Patience, Pace time.Duration
}

// World is one check's own place: a cluster that lives, the request that builds another, and what can be done to their cloud.
// All but Cluster may be left empty.
type World struct {
	// Provider is what is tested; nil: the plugin of Config.Binary.
	Provider provider.Provider

	// Cluster lives in the cloud with Identity, and Credentials let the provider in.
	Cluster     provider.Cluster
	Identity    provider.ClusterIdentity
	Credentials provider.Credentials
	// BadCredentials have the names of Credentials, and values that the cloud refuses.
	BadCredentials provider.Credentials
	// Open are the names of credentials that are no secrets, such as AWS_REGION.
	Open []string
	// Connect is the request that reaches Cluster; nil: the provider reaches none here.
	Connect *provider.ConnectRequest
	// Recorded are all things of Cluster. They are there.
	Recorded []provider.Resource
	// Unpriced are the IDs of things of Cluster whose price nobody knows.
	Unpriced []string
	// Disks are two or more of Cluster's, and Strange is one that can't be snapshotted.
	Disks   []provider.Disk
	Strange *provider.Disk

	// Tenant is somebody else, in another account that Credentials do not let in.
	Tenant *Tenant

	// Build builds another cluster, which is not there. The kit sets the action.
	Build *provider.BuildRequest
	// Rebuild is Build with other variables, so that something is replaced or deleted and something else is made.
	Rebuild *provider.BuildRequest
	// BadBuild is Build with something that is Invalid, and BadField the field which the error must name.
	BadBuild *provider.BuildRequest
	BadField string
	// Reachable says that Connect reaches what Build made.
	Reachable bool

	// Account is an account that is reached through a role, for a provider with Accounts.
	Account *provider.Account

	Hooks
}

// Tenant is somebody's living cluster.
type Tenant struct {
	Cluster     provider.Cluster
	Identity    provider.ClusterIdentity
	Credentials provider.Credentials
	// Recorded are things of Cluster, which are there.
	Recorded []provider.Resource
}

// Hooks do to the cloud what no verb does. A hook that is nil can't be done here.
type Hooks struct {
	// Things are all that is in the cloud, also what is not a cluster's: by ID, what a write would change of it. What
	// changes by itself, such as a state, is not in it. It goes past the provider.
	Things func(ctx context.Context) (map[string]string, error)
	// Remove takes a thing away, and returns when it is gone for good.
	Remove func(ctx context.Context, r provider.Resource) error
	// Delete begins to delete a thing and returns while it is still being deleted.
	Delete func(ctx context.Context, r provider.Resource) error
	// Strangers puts things near Cluster that are not its own.
	Strangers func(ctx context.Context) (Strangers, error)
	// Trouble puts the cloud into trouble. What mend returns ends it.
	Trouble map[Trouble]func(ctx context.Context) (mend func(), err error)
	// Again gives the provider as another process of the plugin would be it, which knows nothing of the first one's calls. With
	// Config.Binary the kit starts that by itself.
	Again func(ctx context.Context) (provider.Provider, error)
	// CanWrite says whether credentials let anything be made, changed or deleted.
	CanWrite func(ctx context.Context, credentials provider.Credentials) (bool, error)
	// Output is what the provider has printed and logged so far. With Config.Binary the kit knows it by itself.
	Output func() string
	// Close takes the world away.
	Close func()
}

// Strangers are the IDs of things that are not the cluster's, by what they have in common with its own.
type Strangers struct {
	// Cluster are another cluster's, with that one's labels and a name that begins with this one's.
	Cluster []string
	// Incarnation are an earlier cluster's of the same name, with that one's incarnation.
	Incarnation []string
	// Unused have no labels of ours and are used by nobody.
	Unused []string
}

// Trouble is something that may be wrong with a cloud.
type Trouble string

// The troubles that checks ask for.
const (
	// ZoneSilent: a zone that has things of Cluster in it does not answer, all others do.
	ZoneSilent Trouble = "zone-silent"
	// KindRefused: the cloud refuses to show a kind of thing that Cluster has.
	KindRefused Trouble = "kind-refused"
	// Throttled: the cloud refuses every call, and says how long to wait.
	Throttled Trouble = "throttled"
	// PageThrottled: the first page of each list comes, the second is refused.
	PageThrottled Trouble = "page-throttled"
	// PageEmpty: each list begins with an empty page that has a token for the next.
	PageEmpty Trouble = "page-empty"
	// ListHides: the lists lack something of Cluster that is there.
	ListHides Trouble = "list-hides"
	// Expired: Credentials have expired.
	Expired Trouble = "expired"
	// Silent: nothing answers; a call hangs until its context ends.
	Silent Trouble = "silent"
	// ClusterDown: the API server of Cluster does not answer.
	ClusterDown Trouble = "cluster-down"
	// Stalled: no snapshot gets on.
	Stalled Trouble = "stalled"
	// QuotaShort: the account may have some of what Build makes, and not all.
	QuotaShort Trouble = "quota-short"
	// RoleSmall: the role of Account lacks a right.
	RoleSmall Trouble = "role-small"
)
