// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// A cluster that was built is connected by its outputs, and then by itself.
func TestConnectBuilt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	plane, err := devstack.StartControlPlane(ctx, devstack.Options{
		Dir: t.TempDir(), Name: "edge", UnsafeNoFsync: true, Components: []string{devstack.Etcd, devstack.APIServer},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	w := newWorld(t, func(o *httpcloud.Options) { o.Kubeconfigs = map[string]string{"edge": plane.Kubeconfig()} })
	if _, _, err := w.build(t, w.request(provider.ActionApply, map[string]any{"control_plane": "nowhere"})); !errors.Is(err, provider.Invalid) {
		t.Errorf("a control plane that is not there: %v", err)
	}
	outputs := w.must(t, provider.ActionApply, nil).Outputs
	var endpoint string
	if err := json.Unmarshal(outputs["endpoint"], &endpoint); err != nil || endpoint == "" {
		t.Fatalf("the output endpoint is %s", outputs["endpoint"])
	}

	req := provider.ConnectRequest{
		Cluster: w.cluster, Outputs: outputs, Credentials: w.credentials(goodToken), RenewToken: time.Hour,
		PrivateAddresses: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
	built, err := w.fake.Connect(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if built.Endpoint.Server != endpoint || built.Endpoint.Token.IsZero() || built.Endpoint.Expiry.IsZero() || len(built.Endpoint.ClientCertificate) > 0 {
		t.Errorf("the way in is %+v", built.Endpoint)
	}
	if built.Identity.KubeSystemUID == "" || built.Identity.CloudID != clusterID(w.cluster) || built.Identity.Account != "fake-account" || built.Region != "fake-1" ||
		len(built.Holds) != 3 || len(built.NotLooked) > 0 {
		t.Errorf("the connection is %+v", built)
	}

	req.Endpoint, req.Outputs = &built.Endpoint, nil
	renewed, err := w.fake.Connect(ctx, req)
	if err != nil || renewed.Endpoint.Token.Equal(built.Endpoint.Token) {
		t.Errorf("a renewal: %v", err)
	}
	req.RenewToken, req.Credentials = 0, provider.Credentials{}
	plain, err := w.fake.Connect(ctx, req)
	if err != nil || !plain.Endpoint.Token.Equal(built.Endpoint.Token) || len(plain.NotLooked) != len(facts().Kinds) {
		t.Errorf("a look without credentials: %v, %+v", err, plain.NotLooked)
	}

	req = provider.ConnectRequest{Cluster: w.cluster, Outputs: outputs, Credentials: w.credentials(readToken)}
	if _, err := w.fake.Connect(ctx, req); !errors.Is(err, provider.Denied) {
		t.Errorf("a token that lets nobody in: %v", err)
	}
	req.Credentials = w.credentials(goodToken)
	if _, err := w.fake.Connect(ctx, req); !errors.Is(err, provider.Invalid) {
		t.Errorf("an org's cluster on a private address: %v", err)
	}
	req.Outputs = nil
	if _, err := w.fake.Connect(ctx, req); !errors.Is(err, provider.Invalid) {
		t.Errorf("without outputs: %v", err)
	}
}
