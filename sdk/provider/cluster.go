// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"net/netip"
	"time"
)

// Cluster says which cluster a request is about.
type Cluster struct {
	// Name is the Cluster's metadata.name: at most 42 characters of a-z, 0-9 and -. It is the value of the label
	// infrared-cluster on everything made outside.
	Name string
	// Incarnation is the UUID that tells this cluster from one of the same name before or after it. It is the value of the
	// label infrared-cluster-uid, and what names are computed from.
	Incarnation string
	// Org is the org whose own cluster this is; empty: the platform's.
	Org string
	// Region is the cloud's name of the cluster's region or zone; empty where it is not known.
	Region string
	// Template is the name of what the cluster was built from, such as aws/eks-cluster; empty: it is only registered.
	Template string
}

// Endpoint is one way into one cluster's API server: everything inline, no programs and no files.
type Endpoint struct {
	// Server is the API server's address, such as https://api.example.com:6443.
	Server string
	// TLSServerName is the name that the server's certificate must carry; empty: the host of Server.
	TLSServerName string
	// CA is PEM with the certificates that may have signed the server's; empty: the system's roots.
	CA []byte
	// Token is the bearer token; empty where there is a client certificate.
	Token Secret
	// ClientCertificate is PEM with the client certificate and perhaps its chain; never a key.
	ClientCertificate []byte
	// ClientKey is PEM with the key of ClientCertificate, not encrypted.
	ClientKey Secret
	// Expiry is when the token or the client certificate ends; zero: never, or not known.
	Expiry time.Time
}

// ConnectRequest asks for one cluster's way in and identity.
type ConnectRequest struct {
	Cluster Cluster
	// Endpoint is the way in that the host holds; nil for a cluster that was just built, whose way in the provider makes
	// from Outputs.
	Endpoint *Endpoint
	// Outputs are what Build returned for this cluster, by name; empty for one that is only registered.
	Outputs map[string]json.RawMessage
	// Credentials are the cloud's; empty where the host has none. Without them the provider says what the cluster itself
	// tells.
	Credentials Credentials
	// PrivateAddresses says that private addresses may be dialled. For an org's own cluster they may not.
	PrivateAddresses bool
	// Allow are addresses that may be dialled although they belong to the plugin's own machine or its link, such as
	// 127.0.0.0/8 on a stack on one machine; nil: none. An answer of a DNS server counts by the address that it gave.
	Allow []netip.Prefix
	// RenewToken asks for a new token of this lifetime for a cluster that was built; zero: Endpoint stays as it is. The
	// expiry that the cluster answers may be another.
	RenewToken time.Duration
}

// Connection is how a cluster is reached, and which one it is.
type Connection struct {
	// Endpoint is the way in to use from now on. It equals the request's unless a token was made.
	Endpoint Endpoint
	// Version is the API server's gitVersion, such as v1.33.4-gke.1036000.
	Version string
	// Nodes is how many nodes there are; nil where they can't be counted, which NotLooked then explains.
	Nodes *Nodes
	// Region is the cluster's region or zone; empty where nothing tells it.
	Region string
	// Identity is by what this cluster is known again.
	Identity ClusterIdentity
	// Holds are the things in the cloud that belong to the cluster, with proof: what it was built from, and what its
	// controllers made (disks, load balancers and what comes with these).
	Holds []Resource
	// NotLooked is what could not be looked at. A record made with some of these never replaces a fuller one.
	NotLooked []NotLooked
}

// Nodes counts a cluster's nodes.
type Nodes struct {
	// Ready is how many are Ready, of Total.
	Ready, Total int32
}

// ClusterIdentity is by what a cluster is known again, and by what the things of its cloud are attributed to it.
type ClusterIdentity struct {
	// KubeSystemUID is the UID of the namespace kube-system, which no two clusters share; empty where it may not be read.
	KubeSystemUID string
	// CloudID is the cluster's own ID: an ARN, a self link, an LKE id; empty where the cloud does not know it as a cluster.
	CloudID string
	// Account is the AWS account, Google project or Linode account.
	Account string
	// Network is the ID of the VPC or network; empty where there is none of its own.
	Network string
	// OIDCIssuer is the address of the cluster's token issuer.
	OIDCIssuer string
	// Traits is whatever else tells the cloud's things apart, by a name of the provider's own: subnets, security-groups,
	// node-groups, ingress-uid. Only the provider reads it back.
	Traits map[string][]string
}

// Disk is a disk that one of the cluster's volumes is on.
type Disk struct {
	// Volume is the PersistentVolume's name, Claim its claim's NAMESPACE/NAME.
	Volume, Claim string
	// Driver is the CSI driver, Handle its spec.csi.volumeHandle, or the disk's ID for a volume of an in-tree plugin.
	Driver, Handle string
	// SizeBytes is the volume's capacity.
	SizeBytes int64
	// Zone is the volume's zone; empty where nothing tells it.
	Zone string
}

// SnapshotRequest asks for a safety snapshot of each disk before the cluster is taken apart.
type SnapshotRequest struct {
	Cluster     Cluster
	Identity    ClusterIdentity
	Credentials Credentials
	// Endpoint is the way into the cluster, for those whose disks are snapshotted from within; nil where there is none.
	Endpoint *Endpoint
	// Disks are what to snapshot. Their order stays the same between calls: the position, from 0, is the n of the name
	// ir-<cluster>-<time>-<n>.
	Disks []Disk
	// Time is when the deletion began; as Unix seconds it is the time of that name.
	Time time.Time
}

// SnapshotState says how far a snapshot is.
type SnapshotState string

// The states of a snapshot. One that the host does not know counts as Pending.
const (
	// SnapshotPending: it is being made; call again.
	SnapshotPending SnapshotState = "Pending"
	// SnapshotReady: a disk can be made from it.
	SnapshotReady SnapshotState = "Ready"
	// SnapshotFailed: the cloud gave up on it; Why says why. Another call makes it anew.
	SnapshotFailed SnapshotState = "Failed"
	// SnapshotUnsupported: this disk can't be snapshotted; Why says why.
	SnapshotUnsupported SnapshotState = "Unsupported"
)

// Snapshot is the answer for one disk.
type Snapshot struct {
	// Disk is the request's.
	Disk Disk
	// State says how far it is, Why what a person should know about that.
	State SnapshotState
	Why   string
	// Resource is the snapshot itself; nil where none was started.
	Resource *Resource
	// Restore is the command that makes a disk from it; empty until it is ready.
	Restore string
}

// ConfirmRequest asks whether recorded things are gone.
type ConfirmRequest struct {
	Cluster     Cluster
	Identity    ClusterIdentity
	Credentials Credentials
	// Recorded are the things to look at, as they were written down.
	Recorded []Resource
}

// SweepRequest asks for everything that is provably the cluster's.
type SweepRequest struct {
	Cluster     Cluster
	Identity    ClusterIdentity
	Credentials Credentials
	// Recorded are the things that were written down as the cluster's: looked at by their IDs, and proof of what hangs on
	// them.
	Recorded []Resource
}
