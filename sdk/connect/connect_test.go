// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testcluster/testdns"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
)

const uid = "6f0c9a1e-0000-4000-8000-000000000001"

func nodes(n int32) *int32 { return &n }

// region is the label by which nodes tell theirs.
func region(name string) map[string]string {
	return map[string]string{"topology.kubernetes.io/region": name}
}

func TestConnect(t *testing.T) {
	type behaviour = testcluster.Behaviour
	type node = testcluster.Node
	found := func(change func(*connect.Cluster)) connect.Cluster {
		c := connect.Cluster{Version: "v1.31.4", Nodes: nodes(1), UID: uid}
		change(&c)
		return c
	}
	tests := map[string]struct {
		reason string
		set    func(*behaviour)
		want   connect.Cluster
	}{
		"K0": {"the plainest one", func(*behaviour) {}, found(func(*connect.Cluster) {})},
		"A15/1 linode": {"provider and region from the node", func(b *behaviour) {
			b.Nodes = []node{{Name: "a", ProviderID: "linode://58923456", Labels: region("us-ord")}}
		}, found(func(c *connect.Cluster) { c.Provider, c.Region = "linode", "us-ord" })},
		"A15/2 second node": {"the first node is joining just now", func(b *behaviour) {
			b.Nodes = []node{{Name: "a"}, {Name: "b", ProviderID: "linode://58923457", Labels: region("us-ord")}}
		}, found(func(c *connect.Cluster) { c.Nodes, c.Provider, c.Region = nodes(2), "linode", "us-ord" })},
		"A15/3 k3s": {"a prefix that tells no provider", func(b *behaviour) {
			b.Nodes = []node{{Name: "a", ProviderID: "k3s://host-a"}}
		}, found(func(*connect.Cluster) {})},
		"A15/5 aws": {"the prefix has an empty host", func(b *behaviour) {
			b.Nodes = []node{{Name: "a", ProviderID: "aws:///us-east-1a/i-0abc", Labels: region("us-east-1")}}
		}, found(func(c *connect.Cluster) { c.Provider, c.Region = "aws", "us-east-1" })},
		"A15/6 no nodes": {"a cluster without nodes is a cluster", func(b *behaviour) { b.Nodes = nil },
			found(func(c *connect.Cluster) { c.Nodes = nodes(0) })},
		"gce": {"Google's prefix", func(b *behaviour) {
			b.Nodes = []node{{Name: "a", ProviderID: "gce://project/us-central1-a/vm"}}
		}, found(func(c *connect.Cluster) { c.Provider = "gcp" })},
		"late provider": {"the twentieth node tells", func(b *behaviour) {
			b.Nodes = testcluster.Nodes(30)
			b.Nodes[19].ProviderID = "gce://p/z/vm"
		}, found(func(c *connect.Cluster) { c.Nodes, c.Provider = nodes(30), "gcp" })},
		"too late provider": {"looking ends somewhere", func(b *behaviour) {
			b.Nodes = testcluster.Nodes(100)
			b.Nodes[99].ProviderID = "gce://p/z/vm"
		}, found(func(c *connect.Cluster) { c.Nodes = nodes(100) })},
		"5000 nodes": {"by one node and the number of the rest", func(b *behaviour) { b.Nodes = testcluster.Nodes(5000) },
			found(func(c *connect.Cluster) { c.Nodes = nodes(5000) })},
		"no count": {"counted by pages", func(b *behaviour) { b.Nodes, b.NoCount = testcluster.Nodes(1234), true },
			found(func(c *connect.Cluster) { c.Nodes = nodes(1234) })},
		"no count, too many": {"counting ends somewhere", func(b *behaviour) { b.Nodes, b.NoCount = testcluster.Nodes(11_000), true },
			found(func(c *connect.Cluster) {
				c.Nodes, c.NodesUnknown = nil, "there are more than 10000, and the API server gives no number"
			})},
		"no limit": {"a server that lists all at once", func(b *behaviour) { b.Nodes, b.IgnoreLimit = testcluster.Nodes(300), true },
			found(func(c *connect.Cluster) { c.Nodes = nodes(300) })},
		"nodes forbidden": {"a limited ServiceAccount is enough", func(b *behaviour) { b.Forbidden = []string{"/nodes"} },
			found(func(c *connect.Cluster) {
				c.Nodes, c.NodesUnknown, c.Limits = nil, "the account may not list nodes", []string{connect.LimitNodes}
			})},
		"kube-system forbidden": {"same", func(b *behaviour) { b.Forbidden = []string{"/kube-system"} },
			found(func(c *connect.Cluster) { c.UID, c.Limits = "", []string{connect.LimitKubeSystem} })},
		"all forbidden": {"the version is enough, and the list is sorted", func(b *behaviour) { b.Forbidden = []string{"/kube-system", "/nodes"} },
			connect.Cluster{Version: "v1.31.4", NodesUnknown: "the account may not list nodes", Limits: []string{connect.LimitNodes, connect.LimitKubeSystem}}},
		"odd region": {"a label that no label can be is left out", func(b *behaviour) {
			b.Nodes = []node{{Name: "a", ProviderID: "aws:///x/i-0", Labels: region("us-east-1\x00<script>")}}
		}, found(func(c *connect.Cluster) { c.Provider = "aws" })},
		"long region": {"and a long one", func(b *behaviour) {
			b.Nodes = []node{{Name: "a", ProviderID: "aws:///x/i-0", Labels: region(strings.Repeat("x", 64))}}
		}, found(func(c *connect.Cluster) { c.Provider = "aws" })},
		"gke version": {"clouds add to the version", func(b *behaviour) { b.Version = "v1.33.4-gke.1036000" },
			found(func(c *connect.Cluster) { c.Version = "v1.33.4-gke.1036000" })},
		"k3s version": {"with a plus", func(b *behaviour) { b.Version = "v1.31.4+k3s1" },
			found(func(c *connect.Cluster) { c.Version = "v1.31.4+k3s1" })},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			quickly(t, 15*time.Second)
			s := testcluster.Start(t, behaving(func(b *behaviour) { b.UID = uid; tc.set(b) }))
			got, err := connect.Connect(t.Context(), target(t, s))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Connect (%s), want - got +:\n%s", tc.reason, diff)
			}
			if asked := s.RequestCount(); asked > 30 {
				t.Errorf("it took %d requests", asked)
			}
		})
	}
}

func TestConnectAsksLittle(t *testing.T) {
	s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) {
		b.Nodes = testcluster.Nodes(5000)
		b.Nodes[0].ProviderID = "aws:///x/i-0"
	}))
	if _, err := connect.Connect(t.Context(), target(t, s)); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, r := range s.Requests() {
		asked = append(asked, strings.TrimSuffix(r.Path+"?"+r.Query, "?"))
	}
	want := []string{"/version", "/api/v1/nodes?limit=1", "/api/v1/namespaces/kube-system"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked for, want - got +:\n%s", diff)
	}
}

// Counting by pages must not fetch whole nodes.
func TestCountingAsksForMetadataOnly(t *testing.T) {
	s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) {
		b.Nodes, b.NoCount = testcluster.Nodes(600), true
		b.Nodes[0].ProviderID = "aws:///x/i-0"
	}))
	if _, err := connect.Connect(t.Context(), target(t, s)); err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, r := range s.Requests() {
		if strings.Contains(r.Query, "limit=500") {
			pages++
			if !strings.Contains(r.Accept, "as=PartialObjectMetadataList") {
				t.Errorf("a page was asked for whole: Accept %q", r.Accept)
			}
		}
	}
	if pages != 2 {
		t.Errorf("%d pages, want 2", pages)
	}
}

func TestCredentials(t *testing.T) {
	ca, err := testcluster.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	until := time.Now().AddDate(1, 0, 0).Truncate(time.Second).UTC()
	cert, key, err := ca.ClientCertificate("case-admin", time.Now().Add(-time.Hour), until)
	if err != nil {
		t.Fatal(err)
	}
	expiry := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	token := jwt("system:serviceaccount:kube-system:infrared", expiry)
	tests := map[string]struct {
		reason string
		with   testcluster.KubeconfigOptions
		want   connect.Cluster
		sent   testcluster.Request
	}{
		"token": {"sent as a bearer, colon and all", testcluster.KubeconfigOptions{Token: "kubeconfig-u-x:S3CR3T"}, connect.Cluster{},
			testcluster.Request{Authorization: "Bearer kubeconfig-u-x:S3CR3T"}},
		"account": {"a ServiceAccount's is named", testcluster.KubeconfigOptions{Token: token},
			connect.Cluster{ServiceAccount: "kube-system/infrared", TokenExpiry: expiry}, testcluster.Request{Authorization: "Bearer " + token}},
		"certificate": {"shown in TLS, with no header", testcluster.KubeconfigOptions{ClientCert: cert, ClientKey: key},
			connect.Cluster{CertificateExpiry: until}, testcluster.Request{ClientCertificate: "case-admin"}},
		"both": {"both are sent", testcluster.KubeconfigOptions{ClientCert: cert, ClientKey: key, Token: "S3CR3T"},
			connect.Cluster{CertificateExpiry: until}, testcluster.Request{ClientCertificate: "case-admin", Authorization: "Bearer S3CR3T"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := behaving(func(b *testcluster.Behaviour) {
				b.Token = strings.TrimPrefix(tc.sent.Authorization, "Bearer ")
				if b.Token == "" {
					b.Token = "another"
				}
			})
			o.CA = ca
			s := testcluster.Start(t, o)
			got, err := connect.Connect(t.Context(), connect.Target{Config: read(t, s.Kubeconfig(tc.with)), Policy: local()})
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			got = connect.Cluster{ServiceAccount: got.ServiceAccount, TokenExpiry: got.TokenExpiry, CertificateExpiry: got.CertificateExpiry}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Connect (%s), want - got +:\n%s", tc.reason, diff)
			}
			for _, r := range s.Requests() {
				sent := testcluster.Request{Authorization: r.Authorization, ClientCertificate: r.ClientCertificate}
				if diff := cmp.Diff(tc.sent, sent); diff != "" {
					t.Errorf("sent to %s (%s), want - got +:\n%s", r.Path, tc.reason, diff)
				}
			}
		})
	}
}

// jwt is a token with these claims; its signature is nobody's.
func jwt(subject string, expiry time.Time) string {
	claims := fmt.Sprintf(`{"sub":%q,"exp":%d}`, subject, expiry.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".S3CR3T"
}

// Field case A05(3): the server's certificate has one name that is not its host.
func TestTLSServerName(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{Hosts: []string{"kubernetes.default.svc"}})
	config := read(t, s.Kubeconfig(testcluster.KubeconfigOptions{TLSServerName: "kubernetes.default.svc"}))
	if _, err := connect.Connect(t.Context(), connect.Target{Config: config, Policy: local()}); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Requests() {
		if r.SNI != "kubernetes.default.svc" {
			t.Errorf("the server saw SNI %q", r.SNI)
		}
	}
	config.TLSServerName = ""
	_, err := connect.Connect(t.Context(), connect.Target{Config: config, Policy: local()})
	wantError(t, err, connect.CertificateInvalid, `other names \(kubernetes.default.svc\).*tls-server-name`)
}

// Field case A13: the path before the API is kept.
func TestRancher(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{Hosts: []string{"rancher.example.net"}})
	policy := elsewhere(t, dial.Platform(), s, map[string][]netip.Addr{"rancher.example.net": testdns.Addrs("198.41.0.4")})
	for _, id := range []string{"c-m-aaaa1111", "c-m-bbbb2222"} {
		config := read(t, s.Kubeconfig(testcluster.KubeconfigOptions{
			Server: "https://rancher.example.net/k8s/clusters/" + id + "/", Token: "kubeconfig-u-x:S3CR3T",
		}))
		if _, err := connect.Connect(t.Context(), connect.Target{Config: config, Policy: policy}); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	for _, r := range s.Requests() {
		paths = append(paths, r.Path)
	}
	want := []string{
		"/k8s/clusters/c-m-aaaa1111/version", "/k8s/clusters/c-m-aaaa1111/api/v1/nodes", "/k8s/clusters/c-m-aaaa1111/api/v1/namespaces/kube-system",
		"/k8s/clusters/c-m-bbbb2222/version", "/k8s/clusters/c-m-bbbb2222/api/v1/nodes", "/k8s/clusters/c-m-bbbb2222/api/v1/namespaces/kube-system",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths, want - got +:\n%s", diff)
	}
}

func TestProviderOf(t *testing.T) {
	prefixes := connect.DefaultNodePrefixes()
	prefixes["aws:///eu"] = "aws-eu"
	for id, want := range map[string]string{
		"aws:///us-east-1a/i-0abc": "aws", "aws:///eu-west-1a/i-0": "aws-eu", "gce://p/z/vm": "gcp", "linode://1": "linode",
		"k3s://host-a": "", "kind://docker/kind/kind-control-plane": "", "": "", "aws": "", "xaws://": "",
	} {
		if got := connect.ProviderOf(id, prefixes); got != want {
			t.Errorf("ProviderOf(%q) is %q, want %q", id, got, want)
		}
	}
	if got := connect.ProviderOf("aws://x", nil); got != "" {
		t.Errorf("without a table the provider is %q", got)
	}
}

// A client for whole objects goes the same way: policy, no redirects.
func TestRESTConfig(t *testing.T) {
	s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) { b.Token = "S3CR3T" }))
	restConfig, err := connect.RESTConfig(target(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := serverVersion(restConfig); err != nil || got != "v1.31.4" {
		t.Errorf("client-go reads version %q, %v", got, err)
	}
	other := testcluster.Start(t, testcluster.Options{CA: s.CA()})
	s.Change(func(b *testcluster.Behaviour) { b.Redirect = other.URL() + "/version" })
	if _, err := serverVersion(restConfig); err == nil || !strings.Contains(err.Error(), "redirect") {
		t.Errorf("client-go gave %v for a redirect", err)
	}
	if other.RequestCount() > 0 {
		t.Errorf("the redirect was followed, with %q", other.Requests()[0].Authorization)
	}
	org := target(t, s)
	org.Policy = dial.PublicOnly()
	if restConfig, err = connect.RESTConfig(org); err != nil {
		t.Fatal(err)
	}
	before := s.RequestCount()
	if _, err := serverVersion(restConfig); err == nil || s.RequestCount() != before {
		t.Errorf("client-go reached loopback under a policy of public addresses: %v", err)
	}
	if _, err := connect.RESTConfig(connect.Target{Config: &kubeconfig.Config{Server: "http://x"}}); err == nil {
		t.Error("http was taken")
	}
}
