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
	// AnnotationServer on an Argo CD cluster Secret is the address the operator uses, where Argo CD uses another.
	AnnotationServer = "infrared.darkshift.io/server"
)

// KubeconfigKey is the key of a kubeconfig in its Secret, where the Cluster names no other.
const KubeconfigKey = "kubeconfig"

// ArgoSecretName is the name of Argo CD's Secret of a Cluster, in ArgoNamespace.
func ArgoSecretName(cluster string) string { return "cluster-" + cluster }

// RecordName is the name of the DeletionRecord of a Cluster, and the suffix of all that is kept by incarnation:
// <name>-u<the first 8 hex digits of its incarnation>.
func RecordName(cluster, incarnation string) string {
	return cluster + "-u" + incarnation[:min(8, len(incarnation))]
}
