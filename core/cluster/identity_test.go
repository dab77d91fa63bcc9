// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
)

// replacedByAnUnknownCluster is that an account that may not read the identity is no way around it.
func replacedByAnUnknownCluster(t *testing.T, _ *world) {
	blind := func(b *testcluster.Behaviour) {
		b.Forbidden = []string{"/api/v1/nodes", "/api/v1/namespaces/kube-system"}
	}
	one, two := start(t, testcluster.Options{}), start(t, testcluster.Options{})
	two.Change(blind)
	register(t, "known", k0{}.text(one))
	eventually(t, has("known", "Connected", "True", v1alpha1.ReasonConnected))
	replace(t, "known", k0{}.text(two))
	eventually(t, has("known", "Connected", "True", v1alpha1.ReasonReplacementRefused, "can't be told"))
	if err := argoConfig("known", tokenConfig("S3CR3T.abc", one))(); err != nil {
		t.Error(err)
	}
	// At the same address under the same CA it is the same cluster, with fewer rights.
	one.Change(blind)
	replace(t, "known", k0{User: `{token: "S3CR3T.less"}`}.text(one))
	eventually(t, has("known", "Connected", "True", v1alpha1.ReasonLimitedAccess), argoConfig("known", tokenConfig("S3CR3T.less", one)))
}
