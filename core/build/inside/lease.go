// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"darkshift.io/infrared/core/build/run"
)

// lockInfo is the annotation in which the backend says more about its lock.
const lockInfo = "app.terraform.io/lock-info"

func (o *objects) readLease(ctx context.Context) (lease *coordinationv1.Lease, err error) {
	err = o.patience.try(ctx, func(ctx context.Context) error {
		lease, err = o.leases.Get(ctx, o.names.Lease(), metav1.GetOptions{})
		return err
	})
	return lease, err
}

// writeLease writes what the backend may say of a lock, its holder and its note, over the version that it has seen, and beside it which
// pod takes it. By that the operator knows whether the holder is dead.
func (o *objects) writeLease(ctx context.Context, wanted *coordinationv1.Lease, pod Pod) (*coordinationv1.Lease, error) {
	lease, err := o.readLease(ctx)
	if err != nil {
		return nil, err
	}
	if wanted.ResourceVersion != "" && wanted.ResourceVersion != lease.ResourceVersion {
		return nil, failure(http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprintf("Lease %s was changed by somebody else since this run read it", lease.Name))
	}
	lease.Spec = wanted.Spec
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	delete(lease.Annotations, lockInfo)
	if note, found := wanted.Annotations[lockInfo]; found {
		lease.Annotations[lockInfo] = note
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != "" {
		maps.Copy(lease.Annotations, pod.stamps())
		lease.Annotations[run.StampLock] = holder
	}
	return o.updateLease(ctx, lease)
}

// updateLease is updateSecret for the Lease.
func (o *objects) updateLease(ctx context.Context, lease *coordinationv1.Lease) (written *coordinationv1.Lease, err error) {
	lost := false
	err = o.patience.try(ctx, func(ctx context.Context) error {
		written, err = o.leases.Update(ctx, lease, metav1.UpdateOptions{})
		if lost && apierrors.IsConflict(err) {
			now, getErr := o.leases.Get(ctx, lease.Name, metav1.GetOptions{})
			if getErr == nil && ptr.Equal(now.Spec.HolderIdentity, lease.Spec.HolderIdentity) && now.Annotations[lockInfo] == lease.Annotations[lockInfo] {
				written = now
				return nil
			}
		}
		lost = lost || err != nil && isOutage(err)
		return err
	})
	return written, err
}

// stamps are the annotations that say which pod it is.
func (p Pod) stamps() map[string]string {
	return map[string]string{
		run.StampJob: p.Job, run.StampJobUID: p.JobUID, run.StampPod: p.Name, run.StampPodUID: p.UID, run.StampNode: p.Node,
	}
}
