// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/sanity"
)

// The provider keeps the contract.
func TestContract(t *testing.T) {
	outcomes := sanity.Test(t, sanity.Config{
		Facts: facts(), Pace: 10 * time.Millisecond, Soon: 15 * time.Second,
		World: func(context.Context) (*sanity.World, error) { return contractWorld(t), nil },
	})
	// A plugin of its own has no state but the host's, which is not here; the rest has no part in this cloud.
	cannot := []string{
		"built-is-connected", "no-templates-unsupported", "unknown-price-is-nil", "no-secret-in-output",
		"declared-works", "verify-writes-nothing", "verify-says-whose", "small-role-is-an-answer", "mint-works", "mint-fits-purpose", "mint-ends",
	}
	for _, outcome := range outcomes {
		if len(outcome.Lacks) > 0 && !slices.Contains(cannot, outcome.Name) {
			t.Errorf("%s did not run: the world has no %v", outcome.Name, outcome.Lacks)
		}
	}
}

// folders gives each build a folder of its own, as each Job has: two builds at once share their state and nothing else.
type folders struct {
	fake
	root string
	next *atomic.Int32
}

func (f folders) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	req.Folder = filepath.Join(f.root, fmt.Sprint("run-", f.next.Add(1)))
	return f.fake.Build(ctx, req, r)
}

// contractWorld is a cloud with a cluster in it that nobody built, and a request for one that is to be built.
func contractWorld(t *testing.T) *sanity.World {
	t.Helper()
	w := newWorld(t)
	dir := t.TempDir()
	w.fake.localState = filepath.Join(dir, "terraform.tfstate")
	again := func() provider.Provider { return folders{fake: w.fake, root: dir, next: &atomic.Int32{}} }
	living := provider.Cluster{Name: "living", Incarnation: "6f1c0e9e-92bd-4c3c-9f4b-3a0e3f1f9f10", Template: templateName}
	neighbour := provider.Cluster{Name: "neighbour", Incarnation: "77d1f2a0-0b0e-4a52-8a4c-6f3f7e1f4c55", Template: templateName}
	other := newWorld(t, func(o *httpcloud.Options) { o.Account = "another-account" })
	recorded, others := w.settle(t, living), other.settle(t, neighbour)

	server := testcluster.Start(t, testcluster.Options{})
	config, err := kubeconfig.Read(server.Kubeconfig(testcluster.KubeconfigOptions{Token: "S3CR3T-of-the-cluster"}))
	if err != nil {
		t.Fatal(err)
	}
	endpoint := connect.EndpointOf(*config)
	build := w.request("", nil)
	build.Cluster.Name = "built"
	rebuild, bad := build, build
	rebuild.Variables = map[string]json.RawMessage{"region": json.RawMessage(`"us-east-1"`)}
	bad.Variables = map[string]json.RawMessage{"node_count": json.RawMessage("101")}
	world := &sanity.World{
		Provider: again(), Cluster: living, Identity: provider.ClusterIdentity{Account: "fake-account"},
		Credentials: w.credentials(goodToken), BadCredentials: w.credentials("S3CR3T-of-nobody"), Open: []string{endpointName}, Recorded: recorded,
		Strange: &provider.Disk{Driver: "nfs.example.com", Handle: "disk/strange"},
		Tenant:  &sanity.Tenant{Cluster: neighbour, Credentials: other.credentials(goodToken), Recorded: others},
		Build:   &build, Rebuild: &rebuild, BadBuild: &bad, BadField: "variables.node_count",
		Connect: &provider.ConnectRequest{
			Cluster: living, Credentials: w.credentials(goodToken), Endpoint: &endpoint, PrivateAddresses: true,
			Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		},
		Hooks: w.hooks(server, again),
	}
	for _, r := range recorded {
		if r.Kind == httpcloud.KindDisk {
			world.Disks = append(world.Disks, provider.Disk{Driver: driver, Handle: r.ID, Zone: r.Location})
		}
	}
	return world
}

// settle puts the things of a cluster that lives into the cloud.
func (w *world) settle(t *testing.T, of provider.Cluster) []provider.Resource {
	t.Helper()
	c := cloud{account: "fake-account"}
	var recorded []provider.Resource
	for _, thing := range []httpcloud.Thing{
		{Kind: httpcloud.KindCluster, Name: stem(of)}, {Kind: httpcloud.KindDisk, Name: of.Name + "-a"}, {Kind: httpcloud.KindDisk, Name: of.Name + "-b"},
		{Kind: httpcloud.KindLoadBalancer, Name: stem(of)}, {Kind: httpcloud.KindNetwork, Name: stem(of)}, {Kind: httpcloud.KindNodeGroup, Name: stem(of)},
	} {
		region := "fake-1"
		if thing.Kind == httpcloud.KindDisk {
			region = "fake-2"
		}
		there, err := w.cloud.Add(thing.Kind, thing.Name, httpcloud.Spec{Region: region, Labels: labels(of)})
		if err != nil {
			t.Fatal(err)
		}
		recorded = append(recorded, c.resource(there, of))
	}
	return recorded
}

// hooks are what the kit does to the cloud past the provider.
func (w *world) hooks(server *testcluster.Server, again func() provider.Provider) sanity.Hooks {
	faults := func(f httpcloud.Faults) func(context.Context) (func(), error) {
		return func(context.Context) (func(), error) {
			return func() { _ = w.cloud.Set(httpcloud.Faults{}) }, w.cloud.Set(f)
		}
	}
	return sanity.Hooks{
		Things: func(context.Context) (map[string]string, error) {
			all := map[string]string{}
			for id, thing := range w.in() {
				all[id] = fmt.Sprint(thing.Spec, thing.Version)
			}
			return all, nil
		},
		Remove: func(_ context.Context, r provider.Resource) error { return w.cloud.Remove(r.ID) },
		Delete: func(ctx context.Context, r provider.Resource) error {
			if err := w.cloud.Set(httpcloud.Faults{Stalled: true}); err != nil {
				return err
			}
			return httpcloud.Client{Endpoint: w.server.URL, Token: goodToken}.Delete(ctx, r.ID)
		},
		Strangers: func(context.Context) (sanity.Strangers, error) {
			var ids []string
			for i, of := range []provider.Cluster{
				{Name: "living-2", Incarnation: "0b6c1c52-6a36-4f0e-8b52-1d0b8c0a77aa"}, {Name: "living", Incarnation: "f3a0c7d1-52b4-4a3e-9a57-64f1d2b6c9ee"}, {},
			} {
				thing, err := w.cloud.Add(httpcloud.KindDisk, fmt.Sprint("stranger-", i), httpcloud.Spec{Region: "fake-1", Labels: labels(of)})
				if err != nil {
					return sanity.Strangers{}, err
				}
				ids = append(ids, thing.ID)
			}
			return sanity.Strangers{Cluster: ids[:1], Incarnation: ids[1:2], Unused: ids[2:]}, nil
		},
		Trouble: map[sanity.Trouble]func(context.Context) (func(), error){
			sanity.ZoneSilent:    faults(httpcloud.Faults{SilentRegions: []string{"fake-2"}}),
			sanity.KindRefused:   faults(httpcloud.Faults{DeniedKinds: []string{httpcloud.KindDisk}}),
			sanity.PageThrottled: faults(httpcloud.Faults{ThrottlePage: 2}),
			sanity.PageEmpty:     faults(httpcloud.Faults{EmptyPages: true}),
			sanity.ListHides:     faults(httpcloud.Faults{HiddenFromLists: []string{"disk/living-a"}}),
			sanity.Silent:        faults(httpcloud.Faults{Silent: true}),
			sanity.Stalled:       faults(httpcloud.Faults{Stalled: true}),
			sanity.Throttled:     faults(httpcloud.Faults{Throttle: -1}),
			sanity.QuotaShort:    faults(httpcloud.Faults{Quota: 7}),
			sanity.Expired:       faults(httpcloud.Faults{Expired: true}),
			sanity.ClusterDown:   func(context.Context) (func(), error) { server.Close(); return func() {}, nil },
		},
		Again: func(context.Context) (provider.Provider, error) { return again(), nil },
		CanWrite: func(_ context.Context, credentials provider.Credentials) (bool, error) {
			return credentials.Values[tokenName].Reveal() == goodToken, nil
		},
	}
}
