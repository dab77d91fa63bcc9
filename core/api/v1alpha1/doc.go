// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of the API group infrared.darkshift.io.
//
// A Cluster is a cluster Infrared knows: the management cluster it runs on, one that somebody registered, or one that it
// built. A DeletionRecord is what stays of a Cluster that was let go. A Provider is a plugin through which Infrared works with a
// cloud. Everything else that Infrared remembers is in the status of these objects; there is no database.
//
// Rules on input are CEL on the types, so that kubectl, Argo CD and the REST API are refused with the same words. Fields
// are only ever added within v1alpha1.
//
// +kubebuilder:object:generate=true
// +groupName=infrared.darkshift.io
package v1alpha1
