// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack_test

import (
	"context"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack"
)

func TestQuick(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	t0 := time.Now()
	cp, err := devstack.StartControlPlane(ctx, devstack.Options{Dir: t.TempDir(), Name: "edge", UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ready in %s", time.Since(t0))
	kc, err := cp.ServiceAccountKubeconfig(ctx, "kube-system", "infrared", "cluster-admin")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(kc))
	t0 = time.Now()
	cp.Kill(devstack.APIServer)
	if err := cp.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("restarted apiserver in %s", time.Since(t0))
	t0 = time.Now()
	cp.Stop()
	t.Logf("stopped in %s", time.Since(t0))
}
