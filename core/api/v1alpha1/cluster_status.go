// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The conditions of a Cluster; there is no third.
const (
	// ConditionConnected is True while Infrared reaches the cluster's API server with a credential that it takes.
	ConditionConnected = "Connected"
	// ConditionRegistered is True once Argo CD can deploy to the cluster from the gitops repo.
	ConditionRegistered = "Registered"
)

// ClusterStatus is what Infrared has seen of a cluster and done with it.
type ClusterStatus struct {
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Connected and Registered. A reason that is not the good one has a page of its own under docs/runbooks.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// provider is spec.provider, or else what the nodes' provider IDs tell.
	// +optional
	Provider string `json:"provider,omitempty"`

	// region is spec.region, or else what the nodes' labels tell.
	// +optional
	Region string `json:"region,omitempty"`

	// kubernetesVersion is what the API server last said of itself, such as v1.37.2.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// nodes counts the cluster's nodes.
	// +optional
	Nodes *NodeCount `json:"nodes,omitempty"`

	// identity is written down at the first connect, and tells this cluster from any other later.
	// +optional
	Identity *Identity `json:"identity,omitempty"`

	// run is the newest OpenTofu run, of a Cluster with spec.template.
	// +optional
	Run *RunStatus `json:"run,omitempty"`

	// plan is the newest plan, while it can be applied.
	// +optional
	Plan *PlanStatus `json:"plan,omitempty"`

	// built is there once an apply has succeeded.
	// +optional
	Built *BuiltStatus `json:"built,omitempty"`

	// confirmation follows the annotation infrared.darkshift.io/confirm-delete.
	// +optional
	Confirmation *Confirmation `json:"confirmation,omitempty"`

	// deletion is there once the Cluster is being deleted.
	// +optional
	Deletion *DeletionStatus `json:"deletion,omitempty"`
}

// NodeCount counts nodes.
type NodeCount struct {
	// total is how many there are; it is left out where it could not be learnt.
	// +optional
	Total *int32 `json:"total,omitempty"`
	// unknown says why total is not known.
	// +optional
	Unknown string `json:"unknown,omitempty"`
}

// Identity is what tells a cluster from any other.
type Identity struct {
	// kubeSystemUID is the UID of namespace kube-system, which lives as long as the cluster. Empty where it may not be read.
	// +optional
	KubeSystemUID string `json:"kubeSystemUID,omitempty"`
	// provider is what the nodes' provider IDs told last, also when there are no nodes any more.
	// +optional
	Provider string `json:"provider,omitempty"`
	// region is what the nodes' labels told last.
	// +optional
	Region string `json:"region,omitempty"`
	// serviceAccount is the <namespace>/<name> whose token Infrared uses, as the token itself says.
	// +optional
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// credentialExpiresAt is when the token or client certificate ends, where it says so. A registered cluster's is not renewed.
	// +optional
	CredentialExpiresAt *metav1.Time `json:"credentialExpiresAt,omitempty"`
	// managementCluster is true where the cluster turned out to be the one Infrared runs on.
	// +optional
	ManagementCluster bool `json:"managementCluster,omitempty"`
}

// Confirmation is how long the annotation infrared.darkshift.io/confirm-delete has stood.
type Confirmation struct {
	// seenAt is when the annotation was set.
	SeenAt metav1.Time `json:"seenAt"`
	// expired is true ten minutes later: the annotation must be taken out and set again before a deletion.
	// +optional
	Expired bool `json:"expired,omitempty"`
}
