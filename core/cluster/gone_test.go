// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"darkshift.io/infrared/core/api/v1alpha1"
)

func TestOfCluster(t *testing.T) {
	clusters := v1alpha1.GroupVersion.WithResource("clusters").GroupResource()
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"itself":    {"it went meanwhile", apierrors.NewNotFound(clusters, "edge"), true},
		"wrapped":   {"whoever said it", fmt.Errorf("writing status: %w", apierrors.NewNotFound(clusters, "edge")), true},
		"another":   {"this one is still there", apierrors.NewNotFound(clusters, "edge-2"), false},
		"a Secret":  {"something that is to be there is not", fmt.Errorf("patching: %w", apierrors.NewNotFound(corev1.Resource("secrets"), "edge")), false},
		"its rival": {"another API has clusters, too", apierrors.NewNotFound(corev1.Resource("clusters"), "edge"), false},
		"conflict":  {"it is there", apierrors.NewConflict(clusters, "edge", errors.New("changed")), false},
		"any":       {"nothing was not found", errors.New("clusters \"edge\" not found"), false},
		"none":      {"all is well", nil, false},
	} {
		if got := ofCluster(tc.err, "edge"); got != tc.want {
			t.Errorf("%s: %t: %s", name, got, tc.reason)
		}
	}
}
