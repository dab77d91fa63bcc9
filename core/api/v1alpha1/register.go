// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "infrared.darkshift.io", Version: "v1alpha1"}

// AddToScheme teaches a scheme the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Cluster{}, &ClusterList{},
		&DeletionRecord{}, &DeletionRecordList{},
		&Provider{}, &ProviderList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
