// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// requestFor is a good request for a test cluster, on this machine.
func requestFor(t testing.TB, s *testcluster.Server, change ...func(*provider.ConnectRequest)) provider.ConnectRequest {
	t.Helper()
	endpoint := connect.EndpointOf(*read(t, s.Kubeconfig(testcluster.KubeconfigOptions{})))
	req := provider.ConnectRequest{
		Cluster:  provider.Cluster{Name: "edge"},
		Endpoint: &endpoint, PrivateAddresses: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
	for _, f := range change {
		f(&req)
	}
	return req
}

func TestServe(t *testing.T) {
	type behaviour = testcluster.Behaviour
	some := func(n int) []testcluster.Node {
		nodes := testcluster.Nodes(n)
		for i := range nodes {
			nodes[i].NotReady = i%3 == 0
		}
		return nodes
	}
	cases := map[string]struct {
		reason string
		set    func(*behaviour)
		want   func(*provider.Connection)
	}{
		"plain": {
			reason: "what the cluster itself tells",
			set:    func(*behaviour) {}, want: func(*provider.Connection) {},
		},
		"region": {
			reason: "a node's label tells the region",
			set:    func(b *behaviour) { b.Nodes[0].Labels = region("us-ord") },
			want:   func(c *provider.Connection) { c.Region = "us-ord" },
		},
		"not ready": {
			reason: "a node that is cordoned is ready, one that went away is not",
			set:    func(b *behaviour) { b.Nodes = some(4) },
			want:   func(c *provider.Connection) { c.Nodes = &provider.Nodes{Ready: 2, Total: 4} },
		},
		"many nodes": {
			reason: "pages are added up",
			set:    func(b *behaviour) { b.Nodes = some(1300) },
			want:   func(c *provider.Connection) { c.Nodes = &provider.Nodes{Ready: 866, Total: 1300} },
		},
		"no nodes": {
			reason: "none is a number",
			set:    func(b *behaviour) { b.Nodes = nil },
			want:   func(c *provider.Connection) { c.Nodes = &provider.Nodes{} },
		},
		"too many to look at": {
			reason: "the number is known by the server's own count, and Ready is said not to be",
			set:    func(b *behaviour) { b.Nodes = testcluster.Nodes(10_500) },
			want: func(c *provider.Connection) {
				c.Nodes = &provider.Nodes{Total: 10_500}
				c.NotLooked = []provider.NotLooked{{What: "ready nodes", Why: "there are more than 10000"}}
			},
		},
		"no table": {
			reason: "a server that has no tables is still a cluster",
			set:    func(b *behaviour) { b.NoTable = true },
			want: func(c *provider.Connection) {
				c.Nodes = &provider.Nodes{Total: 1}
				c.NotLooked = []provider.NotLooked{{What: "ready nodes", Why: "the API server gives no table of its nodes"}}
			},
		},
		"limited account": {
			reason: "what may not be read was not looked at, which is no error",
			set:    func(b *behaviour) { b.Forbidden = []string{"/api/v1/nodes", "/kube-system"} },
			want: func(c *provider.Connection) {
				c.Nodes, c.Identity = nil, provider.ClusterIdentity{}
				c.NotLooked = []provider.NotLooked{
					{What: "nodes", Why: "the account may not list nodes; bind it to a ClusterRole that may"},
					{What: "the namespace kube-system", Why: "the account may not read it, so the cluster can't be told from another one; bind it to a ClusterRole that may get it"},
				}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := testcluster.Start(t, behaving(func(b *behaviour) {
				b.UID = uid
				tc.set(b)
			}))
			req := requestFor(t, s)
			got, err := connect.Serve(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			want := provider.Connection{
				Endpoint: *req.Endpoint, Version: "v1.31.4", Nodes: &provider.Nodes{Ready: 1, Total: 1},
				Identity: provider.ClusterIdentity{KubeSystemUID: uid},
			}
			tc.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestServeFails(t *testing.T) {
	type behaviour = testcluster.Behaviour
	type request = provider.ConnectRequest
	cases := map[string]struct {
		reason string
		set    func(*behaviour)
		change func(*request)
		kind   provider.ErrorKind
		field  string
		words  string
	}{
		"no endpoint": {
			reason: "a registered cluster has no other way in",
			change: func(r *request) { r.Endpoint = nil },
			kind:   provider.Invalid, field: "endpoint", words: "no other way into this cluster",
		},
		"a new token": {
			reason: "a person gave the token, so that only a person gives a new one",
			change: func(r *request) { r.RenewToken = time.Hour },
			kind:   provider.Unsupported, words: "can't be renewed",
		},
		"another token": {
			reason: "the server does not take it",
			set:    func(b *behaviour) { b.Token = "S3CR3T-other" },
			kind:   provider.Unauthenticated, words: "does not take the credential",
		},
		"no rights at all": {
			reason: "not even /version may be read",
			set:    func(b *behaviour) { b.Forbidden = []string{"/version"} },
			kind:   provider.Denied, words: "lets it read nothing",
		},
		"away": {
			reason: "a server that has trouble is not gone",
			set:    func(b *behaviour) { b.Status = 503 },
			kind:   provider.Unavailable, words: "answers 503",
		},
		"away in the middle": {
			reason: "the last request counts like the first",
			set: func(b *behaviour) {
				b.Only, b.Cut = []string{"/kube-system"}, true
			},
			kind: provider.Unavailable, words: "breaks the connection off",
		},
		"something else": {
			reason: "another server is at the address, which only a person can put right",
			set:    func(b *behaviour) { b.Body = "<html>" },
			kind:   provider.Invalid, field: "endpoint.api", words: "no JSON as Kubernetes does",
		},
		"loopback": {
			reason: "this machine is dialled only where the request allows it",
			change: func(r *request) { r.Allow = nil },
			kind:   provider.Invalid, field: "endpoint.server", words: "this machine",
		},
		"an org's": {
			reason: "for an org only public addresses are dialled, whatever is allowed",
			change: func(r *request) { r.PrivateAddresses = false },
			kind:   provider.Invalid, field: "endpoint.server", words: "address can't be used",
		},
		"another CA": {
			reason: "the certificate is not what the kubeconfig expects",
			change: func(r *request) {
				ca, err := testcluster.NewCA()
				if err != nil {
					panic(err)
				}
				r.Endpoint.CA = ca.PEM()
			},
			kind: provider.Invalid, field: "endpoint.ca", words: "certificate-authority-data has not signed",
		},
		"half a CA": {
			reason: "it can't be read",
			change: func(r *request) { r.Endpoint.CA = []byte("-----BEGIN") },
			kind:   provider.Invalid, field: "endpoint", words: "holds no certificate",
		},
		"no address": {
			reason: "the address is judged as a kubeconfig's is",
			change: func(r *request) { r.Endpoint.Server = "http://127.0.0.1" },
			kind:   provider.Invalid, field: "endpoint", words: "must begin with https://",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := testcluster.Start(t, behaving(func(b *behaviour) {
				if tc.set != nil {
					tc.set(b)
				}
			}))
			req := requestFor(t, s, func(r *request) {
				r.Endpoint.Token = provider.NewSecret("S3CR3T.abc")
				if tc.change != nil {
					tc.change(r)
				}
			})
			_, err := connect.Serve(t.Context(), req)
			var e *provider.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *provider.Error: %s", err, tc.reason)
			}
			if e.Kind != tc.kind || e.Field != tc.field || !strings.Contains(e.Message, tc.words) {
				t.Errorf("got %s %q %q, want %s %q with %q: %s", e.Kind, e.Field, e.Message, tc.kind, tc.field, tc.words, tc.reason)
			}
			if strings.Contains(err.Error(), "S3CR3T") {
				t.Errorf("a secret is in the error: %v", err)
			}
		})
	}
}

// TestServeCancelled is that a call which the host cuts says nothing about the cluster.
func TestServeCancelled(t *testing.T) {
	s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) { b.Hang = true }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := connect.Serve(ctx, requestFor(t, s))
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.Unavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want Unavailable because of the cancelled context", err)
	}
}

// TestServeTables is that a table which is no table is said to be none, and costs no more than its bytes.
func TestServeTables(t *testing.T) {
	columns := `"columnDefinitions":[{"name":"Name"},{"name":"Status"}],`
	for name, table := range map[string]string{
		"no columns":           `{"rows":[{"cells":["a","Ready"]}]}`,
		"no column Status":     `{"columnDefinitions":[{"name":"Name"}],"rows":[]}`,
		"columns after rows":   `{"rows":[{"cells":["a","Ready"]}],` + strings.TrimSuffix(columns, ",") + `}`,
		"short row":            `{` + columns + `"rows":[{"cells":["a"]}]}`,
		"a number as a state":  `{` + columns + `"rows":[{"cells":["a",1]}]}`,
		"rows of another kind": `{` + columns + `"rows":{}}`,
		"a list of nodes":      `{"kind":"NodeList","items":[]}`,
		"a list":               `[]`,
		"more rows than fit":   `{` + columns + `"rows":[` + strings.Repeat(`{"cells":["",""]},`, 20_001) + `{"cells":["",""]}]}`,
		"pages without end":    `{"metadata":{"continue":"x"},` + columns + `"rows":[]}`,
		"a huge continue":      `{"metadata":{"continue":"` + strings.Repeat("x", 9<<10) + `"},` + columns + `"rows":[{"cells":["a","Ready"]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) { b.Table = table }))
			got, err := connect.Serve(t.Context(), requestFor(t, s))
			if err != nil {
				t.Fatal(err)
			}
			if got.Nodes == nil || *got.Nodes != (provider.Nodes{Total: 1}) || len(got.NotLooked) != 1 || got.NotLooked[0].What != connect.PartReadyNodes {
				t.Errorf("got %+v %+v, want one node, of which it is not known whether it is ready", got.Nodes, got.NotLooked)
			}
		})
	}
}
