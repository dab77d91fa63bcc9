// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// annotationWithdrawn, on a record, says that its Job was taken back before OpenTofu had begun. It is written before the Job is deleted, and
// counts only where the run has told nothing: it may have begun in between.
const annotationWithdrawn = "infrared.darkshift.io/withdrawn"

// withdraw takes back the Job of a run that nobody wants any more and that never began, such as one whose image can't be had. A run that may
// have begun is never taken back, and neither is a destroy.
func (b *Builder) withdraw(ctx context.Context, c *v1alpha1.Cluster, r record, want identity, job *batchv1.Job, pods []corev1.Pod, told report) (bool, error) {
	if r.Action == v1alpha1.ActionDestroy || r.Inputs == want.Inputs || told.begun || told.stored == nil {
		return false, nil
	}
	if job == nil || !job.DeletionTimestamp.IsZero() || !neverBegan(job, pods, b.now()) {
		return false, nil
	}
	// By an old copy of the Cluster the run that it asks for by now is not wanted.
	if current, err := b.current(ctx, c); err != nil || !current {
		return false, err
	}
	if !told.withdrawn() {
		metav1.SetMetaDataAnnotation(&told.stored.ObjectMeta, annotationWithdrawn, "true")
		if err := b.Client.Update(ctx, told.stored); err != nil {
			return false, fmt.Errorf("marking record %q as withdrawn: %w", r.name, err)
		}
	}
	return true, b.remove(ctx, job, job.UID)
}

// neverBegan says whether OpenTofu's container has never run. A pod is Pending until its first container runs that is no init container.
func neverBegan(job *batchv1.Job, pods []corev1.Pod, now time.Time) bool {
	for i := range pods {
		if pods[i].Status.Phase != corev1.PodPending {
			return false
		}
		for _, status := range pods[i].Status.ContainerStatuses {
			if status.State.Running != nil || status.State.Terminated != nil || status.LastTerminationState.Terminated != nil {
				return false
			}
		}
	}
	// A young Job's pod may just be being made.
	return len(pods) > 0 || now.Sub(job.CreationTimestamp.Time) > podGrace
}

// withdrawn says whether the run was taken back, and has told nothing.
func (r report) withdrawn() bool {
	return r.stored != nil && r.stored.Annotations[annotationWithdrawn] != "" && !r.begun
}

// withdrawal says it in words.
func withdrawal(r record) string {
	return fmt.Sprintf("Job %s was taken back before OpenTofu had begun: its pod had not started, and something else is asked for by now.", r.Job)
}
