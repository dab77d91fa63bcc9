// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterType tells the cluster Infrared runs on from the others.
// +kubebuilder:validation:Enum=workload;management
type ClusterType string

// The types of a Cluster.
const (
	Workload   ClusterType = "workload"
	Management ClusterType = "management"
)

// Action of an OpenTofu run.
type Action string

// The actions a person can ask for; a destroy is asked for by deleting the Cluster.
const (
	ActionPlan  Action = "plan"
	ActionApply Action = "apply"
)

// Cluster is a cluster that Infrared knows.
//
// To register one you have, put its kubeconfig in a Secret in namespace infrared and name it in spec.connection. To have one
// built, name a template in spec.template. Watch the conditions Connected and Registered. To let it go, set the annotation
// infrared.darkshift.io/confirm-delete to the Cluster's own name, then delete it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=infrared
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.status.region`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes.total`
// +kubebuilder:printcolumn:name="Connected",type=string,JSONPath=`.status.conditions[?(@.type=="Connected")].status`
// +kubebuilder:printcolumn:name="Registered",type=string,JSONPath=`.status.conditions[?(@.type=="Registered")].status`
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.run.phase`
// +kubebuilder:printcolumn:name="Deleting",type=string,JSONPath=`.status.deletion.step`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.deletion.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Org",type=string,priority=1,JSONPath=`.spec.org`
// +kubebuilder:printcolumn:name="Template",type=string,priority=1,JSONPath=`.spec.template.module`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Connected")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 42",message="metadata.name: at most 42 characters, because names of Secrets, Jobs and cloud resources are made from it"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')",message="metadata.name: lowercase letters, digits and hyphens only, beginning and ending with a letter or a digit"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you ask for.
	Spec ClusterSpec `json:"spec"`
	// status is what Infrared has seen and done. Only infrared-operator writes it.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Clusters.
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// ClusterSpec is what a person asks of a Cluster.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'management' || [has(self.connection), has(self.template), has(self.inCluster) && self.inCluster].filter(x, x).size() == 1",message="set exactly one of spec.connection (a cluster you have), spec.template (have one built) and spec.inCluster: true (the management cluster under another name)"
// +kubebuilder:validation:XValidation:rule="self.type != 'management' || !(has(self.connection) || has(self.template) || has(self.provision) || has(self.server) || has(self.org) || (has(self.inCluster) && self.inCluster))",message="a Cluster of type management has no connection, template, provision, server, org or inCluster: it is the cluster Infrared runs on"
// +kubebuilder:validation:XValidation:rule="has(self.connection) == has(oldSelf.connection) && has(self.template) == has(oldSelf.template) && (has(self.inCluster) && self.inCluster) == (has(oldSelf.inCluster) && oldSelf.inCluster)",message="a Cluster can't change between spec.connection, spec.template and spec.inCluster: delete it and make another"
// +kubebuilder:validation:XValidation:rule="has(self.org) == has(oldSelf.org) && (!has(self.org) || self.org == oldSelf.org)",message="spec.org can't be changed: delete the Cluster and register it again for the other org"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.incarnation) || (has(self.incarnation) && self.incarnation == oldSelf.incarnation)",message="spec.incarnation can't be changed or taken out once it is set; kubectl apply leaves it as it is, kubectl replace does not"
// +kubebuilder:validation:XValidation:rule="!has(self.org) || !(has(self.inCluster) && self.inCluster)",message="spec.org and spec.inCluster can't go together, because the management cluster is the platform's: leave spec.org out"
// +kubebuilder:validation:XValidation:rule="!has(self.provision) || has(self.template)",message="spec.provision says how to build spec.template, which is missing"
// +kubebuilder:validation:XValidation:rule="!has(self.org) || !has(self.provision) || !has(self.provision.image)",message="spec.provision.image is for the platform's own clusters, because that program is given the cloud's credentials: leave it out, or leave spec.org out"
// +kubebuilder:validation:XValidation:rule="!has(self.server) || has(self.connection) || has(self.template)",message="spec.server is for a Cluster with spec.connection or spec.template: with inCluster, Argo CD uses its built-in destination"
// +kubebuilder:validation:XValidation:rule="!has(self.server) || (isURL(self.server) && url(self.server).getScheme() == 'https' && url(self.server).getHostname().size() > 0 && !self.server.contains('@') && !self.server.contains('?') && !self.server.contains('#'))",fieldPath=".server",message="spec.server must be an address such as https://api.example.com:6443, without a user, a query or a fragment"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.provider) || self.template.module.startsWith(self.provider + '/')",messageExpression="'spec.provider is ' + self.provider + ', but spec.template.module is ' + self.template.module + ': leave provider out, or name a template of ' + self.provider"
// +kubebuilder:validation:XValidation:rule="!has(self.region) || !has(self.provision) || !has(self.provision.variables) || !('region' in self.provision.variables) || self.provision.variables['region'] == self.region",message="spec.region and spec.provision.variables.region differ: leave one of them out, or give both the same",messageExpression="'spec.region is ' + self.region + ', but spec.provision.variables.region is ' + self.provision.variables['region'].substring(0, self.provision.variables['region'].size() < 64 ? self.provision.variables['region'].size() : 64) + ': leave one of them out, or give both the same'"
type ClusterSpec struct {
	// type is workload, or management for the one Cluster that infrared-operator makes itself. It can't be changed.
	// +optional
	// +kubebuilder:default=workload
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.type can't be changed"
	Type ClusterType `json:"type,omitempty"`

	// org is the org whose own cluster this is; left out, it is the platform's. Infrared reaches an org's cluster only at a public
	// address. It can't be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Org string `json:"org,omitempty"`

	// provider is the cloud the cluster is in, such as aws, gcp or linode. Left out, it is read from the cluster's nodes into
	// status.provider.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Provider string `json:"provider,omitempty"`

	// flavor is the kind of Kubernetes, such as eks or k3s. It is shown and decides nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Flavor string `json:"flavor,omitempty"`

	// region is the cloud's name of the cluster's region or zone, such as us-east-1. Left out, it is read from the cluster's nodes
	// into status.region.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`
	Region string `json:"region,omitempty"`

	// Rules about what may hold a password by mistake stand at the struct: the API server quotes the value that a field's own rule refuses.

	// server is the address at which Argo CD reaches the API server, where that differs from the kubeconfig's, such as
	// https://10.0.0.5:6443.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https://kubernetes[.]default([.]svc([.]cluster[.]local)?)?(:443)?/?$')",message="spec.server is Argo CD's own destination for the management cluster: use spec.inCluster: true"
	Server string `json:"server,omitempty"`

	// connection is how to reach a cluster you have.
	// +optional
	Connection *Connection `json:"connection,omitempty"`

	// inCluster, when true, registers the management cluster again under this name, to try things with one cluster only. Not for an
	// org: it is the platform's.
	// +optional
	InCluster bool `json:"inCluster,omitempty"`

	// template is what to build.
	// +optional
	Template *Template `json:"template,omitempty"`

	// provision is how to build it.
	// +optional
	Provision *Provision `json:"provision,omitempty"`

	// incarnation tells this Cluster from another of the same name, before or after it. infrared-operator sets it to the object's
	// UID at first sight. Carry it along only to adopt a Cluster restored from a backup, which needs the verb adopt on clusters.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	Incarnation string `json:"incarnation,omitempty"`
}

// Connection is how to reach a cluster that already runs.
type Connection struct {
	// kubeconfigSecretRef names the Secret with the kubeconfig. The Cluster takes the Secret over: it goes when the Cluster goes.
	KubeconfigSecretRef SecretKeyRef `json:"kubeconfigSecretRef"`
}

// SecretKeyRef names a key of a Secret in namespace infrared.
type SecretKeyRef struct {
	// name of the Secret, in namespace infrared.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('infrared-') && !self.startsWith('tfstate-') && !(self.startsWith('cluster-') && self.endsWith('-credentials'))",message="name: infrared-*, tfstate-* and cluster-*-credentials are Infrared's own Secrets; put the kubeconfig in another"
	Name string `json:"name"`
	// key in the Secret under which the kubeconfig stands.
	// +optional
	// +kubebuilder:default=kubeconfig
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}

// Template is an OpenTofu module that Infrared can build a cluster from.
type Template struct {
	// module is the template's name, <provider>/<template>, such as aws/eks-cluster.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Module string `json:"module"`
	// version is a tag of infrared-iac-modules, such as v0.14.0.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._+/-]*$') && !self.contains('..') && !self.contains('//') && !self.endsWith('/')",message="version must be a git tag, such as v0.14.0: letters, digits and . _ + / -, beginning with a letter or a digit"
	Version string `json:"version"`
}

// Provision is how to build a template.
//
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || self.variables.all(k, k.matches('^[A-Za-z_][A-Za-z0-9_-]*$'))",message="spec.provision.variables: a name begins with a letter or _, and holds letters, digits, _ and - only"
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || !self.variables.exists(k, k.matches('(^|_)(password|passwd|private_key|secret_key|secret_access_key|access_token|auth_token|api_token|api_key|client_secret)$'))",messageExpression="'spec.provision.variables: ' + self.variables.filter(k, k.matches('(^|_)(password|passwd|private_key|secret_key|secret_access_key|access_token|auth_token|api_token|api_key|client_secret)$'))[0] + ' would put a secret in clear into this object: use a cloud account, or the Secret cluster-<name>-credentials'"
// +kubebuilder:validation:XValidation:rule="!has(self.variables) || self.variables.all(k, !self.variables[k].contains('PRIVATE KEY-----') && !self.variables[k].matches('(AKIA|ASIA)[0-9A-Z]{16}'))",message="spec.provision.variables: a value holds a key in clear: use a cloud account, or the Secret cluster-<name>-credentials"
// +kubebuilder:validation:XValidation:rule="!has(self.source) || (!self.source.matches('(?i)https?://[^/?#]*@') && !self.source.matches('://[^/?#@]*:[^/?#@]*@'))",fieldPath=".source",message="source holds a user or a password in clear: put a token under GIT_TOKEN in the Secret cluster-<name>-credentials"
type Provision struct {
	// action is plan, which shows what would be built, or apply, which builds it and costs money.
	// +optional
	// +kubebuilder:default=plan
	// +kubebuilder:validation:Enum=plan;apply
	Action Action `json:"action,omitempty"`

	// cloudAccount names the Verified CloudAccount to build through; it is one of the platform org, or of spec.org where that is
	// set. Left out, the run reads the Secret cluster-<name>-credentials in namespace infrared, which you make.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	CloudAccount string `json:"cloudAccount,omitempty"`

	// variables are the module's inputs. A value that begins with [ or { is read as JSON. Never put a secret here.
	// +optional
	// +kubebuilder:validation:MaxProperties=100
	Variables map[string]VariableValue `json:"variables,omitempty"`

	// The rule on a password in it stands at the struct, as the one on spec.server does.

	// source of the module, as OpenTofu writes sources. Left out, it is the template's module at the template's version.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('.') && !self.startsWith('/') && !self.startsWith('~')",message="source can't be a path: the run has no files of yours; name a git or registry source"
	Source string `json:"source,omitempty"`

	// image that holds OpenTofu. Left out, it is the one this version of Infrared is released with.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// run starts another run without any other change when it is raised.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Run int64 `json:"run,omitempty"`
}

// VariableValue is the value of one input of a module.
// +kubebuilder:validation:MaxLength=16384
type VariableValue string
