// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionHealthy of a Provider is True while its plugin runs and answers.
const ConditionHealthy = "Healthy"

// Provider is a plugin: a program in the operator's plugin folder through which Infrared works with one cloud.
//
// Put the program into the folder, name it and its SHA-256 here, and watch the condition Healthy. A Provider that Clusters use can't
// be deleted.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=infrared
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Protocol",type=integer,JSONPath=`.status.protocol`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].reason`
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=`.status.restarts`
// +kubebuilder:printcolumn:name="Used By",type=integer,JSONPath=`.status.usedBy.count`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 32",message="metadata.name: at most 32 characters"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')",message="metadata.name: lowercase letters, digits and hyphens only, beginning and ending with a letter or a digit"
type Provider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is which program to run.
	Spec ProviderSpec `json:"spec"`
	// status is what the program said of itself and how it fares. Only infrared-operator writes it.
	// +optional
	Status ProviderStatus `json:"status,omitempty"`
}

// ProviderList is a list of Providers.
// +kubebuilder:object:root=true
type ProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Provider `json:"items"`
}

// ProviderSpec is which program to run.
type ProviderSpec struct {
	// binary is the name of the program's file in the operator's plugin folder, such as eks.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._-]*$')",message="binary must be the name of a file in the plugin folder, such as eks: letters, digits and . _ -, beginning with a letter or a digit, and no path"
	Binary string `json:"binary"`

	// sha256 is the SHA-256 of that file, as sha256sum prints it. A file with another is never run.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{64}$')",message="sha256 must be 64 characters of 0-9 and a-f, as sha256sum prints them"
	SHA256 string `json:"sha256"`
}

// ProviderStatus is what a plugin said of itself and how it fares.
type ProviderStatus struct {
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions is Healthy. A reason that is not the good one has a page of its own under docs/runbooks.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// provider is the cloud that the plugin is for, such as aws: the spec.provider of its Clusters. It stays when the plugin is down.
	// +optional
	Provider string `json:"provider,omitempty"`

	// version is the plugin's own, such as v0.14.0.
	// +optional
	Version string `json:"version,omitempty"`

	// protocol is the version of the plugin protocol that is spoken with it.
	// +optional
	Protocol int32 `json:"protocol,omitempty"`

	// capabilities are the optional parts that it has, such as Accounts.
	// +optional
	// +listType=atomic
	Capabilities []string `json:"capabilities,omitempty"`

	// templates are what it can build.
	// +optional
	// +listType=atomic
	Templates []ProviderTemplate `json:"templates,omitempty"`

	// nodePrefixes are how the spec.providerID of its cloud's nodes begins, such as aws://.
	// +optional
	// +listType=atomic
	NodePrefixes []string `json:"nodePrefixes,omitempty"`

	// pid is the plugin's process ID on the operator's machine; left out while it does not run.
	// +optional
	PID int32 `json:"pid,omitempty"`

	// restarts is how often the plugin was started again, because it had ended by itself or hung.
	// +optional
	// +kubebuilder:default=0
	Restarts int32 `json:"restarts,omitempty"`

	// usedBy are the Clusters that need the plugin. While there is one, the Provider can't be deleted.
	// +optional
	UsedBy *ProviderUse `json:"usedBy,omitempty"`
}

// ProviderTemplate is something that a plugin can build.
type ProviderTemplate struct {
	// name is the template's, <provider>/<template>, such as aws/eks-cluster.
	Name string `json:"name"`
	// title is what people see.
	// +optional
	Title string `json:"title,omitempty"`
}

// ProviderUse is who uses a plugin.
type ProviderUse struct {
	// count is how many Clusters there are.
	Count int32 `json:"count"`
	// clusters are the names of the first ten, sorted.
	// +optional
	// +listType=atomic
	Clusters []string `json:"clusters,omitempty"`
}
