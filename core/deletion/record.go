// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// Record writes the DeletionRecord of a deletion that has ended, unless it is there from an earlier try.
func Record(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, now time.Time) error {
	err := c.Create(ctx, record(cluster, now))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("writing the DeletionRecord: %w", err)
	}
	return nil
}

// Recorded reports whether the incarnation that the Cluster carries was let go before.
func Recorded(ctx context.Context, live client.Reader, cluster *v1alpha1.Cluster) (bool, error) {
	if cluster.Spec.Incarnation == "" {
		return false, nil
	}
	var found v1alpha1.DeletionRecord
	err := live.Get(ctx, client.ObjectKey{Name: v1alpha1.RecordName(cluster.Name, cluster.Spec.Incarnation)}, &found)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return found.Spec.Incarnation == cluster.Spec.Incarnation, nil
}

func record(cluster *v1alpha1.Cluster, now time.Time) *v1alpha1.DeletionRecord {
	deletion := cluster.Status.Deletion
	spec := v1alpha1.DeletionRecordSpec{
		Cluster:     cluster.Name,
		Incarnation: cluster.Spec.Incarnation,
		Org:         cluster.Spec.Org,
		Provider:    cluster.Status.Provider,
		Region:      cluster.Status.Region,
		StartedAt:   *deletion.StartedAt,
		EndedAt:     *v1alpha1.Seconds(now),
		Steps:       deletion.Steps,
	}
	if cluster.Status.Identity != nil {
		spec.KubeSystemUID = cluster.Status.Identity.KubeSystemUID
	}
	var forced []string
	for _, step := range deletion.Steps {
		spec.LeftCount += int32(len(step.LeftBehind))
		if step.State == v1alpha1.StepForced {
			forced = append(forced, step.Name+" by "+step.ForcedBy)
		}
	}
	spec.Forced = strings.Join(forced, ", ")
	return &v1alpha1.DeletionRecord{
		ObjectMeta: metav1.ObjectMeta{
			Name: v1alpha1.RecordName(cluster.Name, cluster.Spec.Incarnation),
			Labels: map[string]string{
				v1alpha1.LabelCluster:     cluster.Name,
				v1alpha1.LabelIncarnation: cluster.Spec.Incarnation,
			},
		},
		Spec: spec,
	}
}
