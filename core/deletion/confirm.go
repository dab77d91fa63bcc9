// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"encoding/json"
	"fmt"
	"time"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// confirmationCounts is how long the annotation confirm-delete arms a deletion. One left in git would otherwise disarm the guard
// for good.
const confirmationCounts = 10 * time.Minute

// Confirm keeps status.confirmation in step with the annotation, and says in how long it will change by itself (zero: never).
// retracted is true where the annotation was seen to be taken out since the last call, though it may stand again. The admission
// policy reads the status, because a policy can't tell the time.
func Confirm(cluster *v1alpha1.Cluster, now time.Time, retracted bool) time.Duration {
	if cluster.Annotations[v1alpha1.AnnotationConfirmDelete] != cluster.Name {
		cluster.Status.Confirmation = nil
		return 0
	}
	if cluster.Status.Confirmation == nil || retracted {
		cluster.Status.Confirmation = &v1alpha1.Confirmation{SeenAt: *v1alpha1.Seconds(setAt(cluster, now))}
	}
	left := cluster.Status.Confirmation.SeenAt.Add(confirmationCounts).Sub(now)
	cluster.Status.Confirmation.Expired = left <= 0
	return max(left, 0)
}

// Confirmed reports whether the deletion of the Cluster was confirmed in time. Where it was not, because the CRD was deleted or
// the policy was not there, the annotation counts as soon as it is set anew.
func Confirmed(cluster *v1alpha1.Cluster) bool {
	seen := cluster.Status.Confirmation
	return seen != nil && cluster.DeletionTimestamp.Sub(seen.SeenAt.Time) <= confirmationCounts
}

// HowToConfirm is what a person has to do for a deletion to go on.
func HowToConfirm(cluster *v1alpha1.Cluster) string {
	command := fmt.Sprintf("kubectl annotate cluster %s %s=%s", cluster.Name, v1alpha1.AnnotationConfirmDelete, cluster.Name)
	if cluster.Annotations[v1alpha1.AnnotationConfirmDelete] != "" {
		command = fmt.Sprintf("kubectl annotate cluster %s %s- && %s", cluster.Name, v1alpha1.AnnotationConfirmDelete, command)
	}
	return "The Cluster was deleted without confirmation in the ten minutes before, and nothing was done. To go on: " + command
}

// setAt is when the annotation was set, as the API server wrote it down beside whoever set it; now where it did not. The time may be
// later, since it is that of the last change by the same hand, so it counts only when the annotation is seen for the first time.
func setAt(cluster *v1alpha1.Cluster, now time.Time) time.Time {
	const name = "f:" + v1alpha1.AnnotationConfirmDelete
	for _, entry := range cluster.ManagedFields {
		if entry.Time == nil || entry.FieldsV1 == nil || !entry.Time.Time.Before(now) {
			continue
		}
		var fields struct {
			Metadata struct {
				Annotations map[string]any `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err == nil && fields.Metadata.Annotations[name] != nil {
			return entry.Time.Time
		}
	}
	return now
}
