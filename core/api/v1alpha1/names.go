// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Namespaces that Infrared writes to on the management cluster.
const (
	// Namespace holds the operator and every Secret of a Cluster but the one Argo CD reads.
	Namespace = "infrared"
	// ArgoNamespace is where Argo CD runs and looks for its cluster Secrets.
	ArgoNamespace = "argocd"
	// OperatorUser is the user of infrared-operator; the admission policies name it too.
	OperatorUser = "system:serviceaccount:infrared:infrared-operator"
	// FieldManager owns the fields the operator applies.
	FieldManager = "infrared-operator"
)

// Labels on everything made for a Cluster, on the management cluster and outside.
const (
	// LabelCluster carries the Cluster's name.
	LabelCluster = "infrared-cluster"
	// LabelIncarnation carries spec.incarnation, so that a Cluster made later under an old name inherits nothing.
	LabelIncarnation = "infrared-cluster-uid"
	// LabelBuild marks what OpenTofu's runs keep on the management cluster, with what it is: state, plan, ledger, record or job. A Secret
	// with it is no credential, and outlives the step Disconnect.
	LabelBuild = "infrared.darkshift.io/build"
	// LabelClaim marks the objects whose name is a claim (package claim).
	LabelClaim = "infrared.darkshift.io/claim"
)

// Finalizers. The admission policies let nobody but the operator take them off.
const (
	// FinalizerDeletion keeps a Cluster until its deletion has run to the end.
	FinalizerDeletion = "infrared.darkshift.io/deletion"
	// FinalizerDisconnect keeps the Secrets of a Cluster until the step Disconnect: a foreground deletion, which is Argo CD's
	// default, would remove dependents first.
	FinalizerDisconnect = "infrared.darkshift.io/disconnect"
	// FinalizerState keeps OpenTofu's state until all that it lists is destroyed: without it nobody finds what still bills.
	FinalizerState = "infrared.darkshift.io/state"
	// FinalizerPlugin keeps a Provider while Clusters use it, and until the operator has told its plugin to stop.
	FinalizerPlugin = "infrared.darkshift.io/plugin"
)

// Annotations by which a person says what the REST API will say later.
const (
	// AnnotationConfirmDelete holds the Cluster's own name, and arms its deletion for ten minutes.
	AnnotationConfirmDelete = "infrared.darkshift.io/confirm-delete"
	// AnnotationBackup is "true" (the default) or "false".
	AnnotationBackup = "infrared.darkshift.io/backup"
	// AnnotationForce is <cluster>/<step>, and moves on a step that is Stuck or Failed.
	AnnotationForce = "infrared.darkshift.io/force"
	// AnnotationForceBy names the user who forces; a policy compares it with the user of the request.
	AnnotationForceBy = "infrared.darkshift.io/force-by"
	// AnnotationApprovePlan holds the digest of the plan that may destroy or replace the cluster or a node group.
	AnnotationApprovePlan = "infrared.darkshift.io/approve-plan"
	// AnnotationReleaseLock holds the ID of the state's lock that may be released although nobody can tell whether its holder is gone.
	AnnotationReleaseLock = "infrared.darkshift.io/release-lock"
	// AnnotationServer on an Argo CD cluster Secret is the address the operator uses, where Argo CD uses another.
	AnnotationServer = "infrared.darkshift.io/server"
)

// KubeconfigKey is the key of a kubeconfig in its Secret, where the Cluster names no other.
const KubeconfigKey = "kubeconfig"

// ArgoSecretName is the name of Argo CD's Secret of a Cluster, in ArgoNamespace.
func ArgoSecretName(cluster string) string { return "cluster-" + cluster }

// KubeconfigSecretName is the name of the kubeconfig Secret that Infrared makes, in Namespace.
func KubeconfigSecretName(cluster string) string { return "cluster-" + cluster + "-kubeconfig" }

// CredentialsSecretName is the name of the Secret with the cloud's credentials for a cluster's runs, in Namespace.
func CredentialsSecretName(cluster string) string { return "cluster-" + cluster + "-credentials" }

// RecordName is the name of the DeletionRecord of a Cluster, and the suffix of all that is kept by incarnation:
// <name>-u<the first 8 hex digits of its incarnation>.
func RecordName(cluster, incarnation string) string {
	return cluster + "-u" + incarnation[:min(8, len(incarnation))]
}
