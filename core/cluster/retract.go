// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// retractions are the Clusters whose confirmation was taken out since they were last reconciled. A person who takes it out and sets it
// again does both within one reconcile, which then sees no difference; the watch sees each. Lost on a restart, when the person has to
// do it again.
type retractions struct{ seen sync.Map } // from name to the resourceVersion at which it was out

// watch notes each update that takes a confirmation out. It lets everything through.
func (r *retractions) watch() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		name := e.ObjectNew.GetName()
		if e.ObjectOld.GetAnnotations()[v1alpha1.AnnotationConfirmDelete] == name && e.ObjectNew.GetAnnotations()[v1alpha1.AnnotationConfirmDelete] != name {
			r.seen.Store(name, e.ObjectNew.GetResourceVersion())
		}
		return true
	}}
}

// of is what was noted of a Cluster, for done, or nil.
func (r *retractions) of(cluster string) any {
	version, _ := r.seen.Load(cluster)
	return version
}

// done forgets what of returned, once it is written down. What was noted meanwhile stays.
func (r *retractions) done(cluster string, version any) {
	if version != nil {
		r.seen.CompareAndDelete(cluster, version)
	}
}
