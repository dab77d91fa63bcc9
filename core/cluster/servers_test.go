// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testcluster/testdns"
)

// serverCases are those about addresses: whom they are for, and who has them already.
func serverCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"org private":     orgAddresses,
		"org public":      orgPublicAddress,
		"platform":        platformPrivateAddress,
		"a13 rancher":     rancher,
		"b03 twice":       sameServerTwice,
		"b03 org":         sameServerForAnOrg,
		"b03 uid":         sameClusterTwice,
		"not let through": addressNotLetThrough,
		"a15 providers":   providersOfNodes,
		"spec.server":     serverForArgoCD,
		"in cluster":      inCluster,
		"management":      managementCluster,
		"management api":  managementByKubeconfig,
	}
}

func ofOrg(org string) func(*v1alpha1.Cluster) {
	return func(c *v1alpha1.Cluster) { c.Spec.Org = org }
}

// orgAddresses is that nothing but a public address is ever dialled for an org, and that the words are the same for all.
func orgAddresses(t *testing.T, w *world) {
	wc := start(t, testcluster.Options{})
	w.host("rebind.example.net", "10.0.0.5", wc)
	w.dns.Set("mixed.example.net", testdns.Addrs("198.41.0.4", "10.0.0.6"))
	hosts := []string{
		"169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "10.0.0.1", "172.31.255.1", "192.168.1.1",
		"100.64.0.1", "127.0.0.1", "127.0.0.2", "0.0.0.0", "[::1]", "[fe80::1]", "2130706433", "0x7f000001", "127.1", "localhost", "localhost.",
		"metadata.google.internal", "rebind.example.net", "mixed.example.net", "nowhere.example.net",
	}
	for i, host := range hosts {
		name := fmt.Sprintf("h03-%d", i)
		create(t, kubeconfigSecret(name, k0{Server: fmt.Sprintf("https://%s:%d", host, 6443+i)}.text(wc))) // one address is one claim
		c := workload(name)
		ofOrg("acme")(c)
		create(t, c)
	}
	for i, host := range hosts {
		name := fmt.Sprintf("h03-%d", i)
		eventually(t, has(name, "Connected", "False", v1alpha1.ReasonAddressRefused), refusedWith(name, `private|public|address|resolve`),
			absent("argocd", "cluster-"+name))
		c, err := getCluster(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, told := range []string{"loopback", "metadata service", "link-local", "not resolve;", "refuses"} {
			if strings.Contains(c.Status.Conditions[0].Message, told) {
				t.Errorf("%s: the message tells an org about the network inside: %s", host, c.Status.Conditions[0].Message)
			}
		}
	}
	for _, address := range []string{"10.0.0.5", "10.0.0.6", "198.41.0.4", "10.0.0.1"} {
		if n := w.dials(address); n > 0 {
			t.Errorf("%s was dialled %d times", address, n)
		}
	}
	if n := wc.RequestCount(); n > 0 {
		t.Errorf("%d requests came through", n)
	}
}

func orgPublicAddress(t *testing.T, w *world) {
	wc := start(t, testcluster.Options{Hosts: []string{"api.acme.example.net"}})
	w.host("api.acme.example.net", "198.41.0.5", wc)
	register(t, "org-public", k0{Server: "https://api.acme.example.net:6443"}.text(wc), ofOrg("acme"))
	eventually(t, has("org-public", "Connected", "True", v1alpha1.ReasonConnected),
		argoHas("org-public", map[string]string{"name": "org-public", "server": "https://api.acme.example.net:6443", "config": tokenConfig("S3CR3T.abc", wc)}))

	reason := "Argo CD would dial what spec.server says, so it must be public, too"
	register(t, "org-inside", k0{Server: "https://api.acme.example.net:6444"}.text(wc), ofOrg("acme"),
		func(c *v1alpha1.Cluster) { c.Spec.Server = "https://10.0.0.9:6443" })
	eventually(t, has("org-inside", "Connected", "False", v1alpha1.ReasonAddressRefused, "spec.server", "10.0.0.9"))
	if n := w.dials("10.0.0.9"); n > 0 {
		t.Errorf("10.0.0.9 was dialled: %s", reason)
	}
}

func platformPrivateAddress(t *testing.T, w *world) {
	wc := start(t, testcluster.Options{Hosts: []string{"10.0.0.21"}})
	w.put("10.0.0.21", wc)
	register(t, "platform-private", k0{Server: "https://10.0.0.21:6443"}.text(wc))
	eventually(t, has("platform-private", "Connected", "True", v1alpha1.ReasonConnected))

	create(t, kubeconfigSecret("platform-metadata", k0{Server: "https://169.254.169.254"}.text(wc)))
	create(t, workload("platform-metadata"))
	eventually(t, has("platform-metadata", "Connected", "False", v1alpha1.ReasonAddressRefused, "metadata"))
}

// rancher is one host with a cluster a path.
func rancher(t *testing.T, w *world) {
	ca, err := testcluster.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	one := start(t, testcluster.Options{CA: ca, Hosts: []string{"rancher.example.net"}})
	w.host("rancher.example.net", "192.0.2.40", one)
	paths := map[string]string{"r1": "/k8s/clusters/c-m-aaaa1111", "r2": "/k8s/clusters/c-m-bbbb2222"}
	for name, path := range paths {
		// The test cluster is one and the same below every path, so each look is to find another one.
		one.Change(func(b *testcluster.Behaviour) { b.UID = testcluster.Good().UID })
		register(t, name, k0{Server: "https://rancher.example.net" + path + "/", User: `{token: "kubeconfig-u-x:S3CR3T"}`}.text(one))
		eventually(t, has(name, "Connected", "True", v1alpha1.ReasonConnected), argoHas(name, map[string]string{
			"name": name, "server": "https://rancher.example.net" + path, "config": tokenConfig("kubeconfig-u-x:S3CR3T", one),
		}))
		last := one.Requests()[len(one.Requests())-1]
		if !strings.HasPrefix(last.Path, path+"/") || last.Authorization != "Bearer kubeconfig-u-x:S3CR3T" {
			t.Errorf("%s asked for %s with %s", name, last.Path, last.Authorization)
		}
	}
}

// sameServerTwice is that Argo CD, which keys its clusters by address, never gets two Secrets for one.
func sameServerTwice(t *testing.T, w *world) {
	wc := start(t, testcluster.Options{Hosts: []string{"api.edge.example.net", "z.example.net"}})
	w.host("api.edge.example.net", "192.0.2.50", wc)
	w.host("z.example.net", "192.0.2.51", wc)
	register(t, "edge-a", k0{Server: "https://api.edge.example.net:6443"}.text(wc))
	eventually(t, has("edge-a", "Connected", "True", v1alpha1.ReasonConnected))
	for i, server := range []string{"https://api.edge.example.net:6443", "https://api.edge.example.net:6443/", "https://API.edge.example.net:6443"} {
		name := fmt.Sprintf("edge-b%d", i)
		register(t, name, k0{Server: server}.text(wc))
		eventually(t, has(name, "Connected", "False", v1alpha1.ReasonAlreadyRegistered, "edge-a"), absent("argocd", "cluster-"+name))
	}
	wc.Change(func(b *testcluster.Behaviour) { b.UID = testcluster.Good().UID })
	register(t, "edge-c", k0{Server: "https://z.example.net"}.text(wc))
	eventually(t, has("edge-c", "Connected", "True", v1alpha1.ReasonConnected))
	register(t, "edge-d", k0{Server: "https://z.example.net:443"}.text(wc))
	eventually(t, has("edge-d", "Connected", "False", v1alpha1.ReasonAlreadyRegistered, "edge-c"))

	// Once the first is gone, the one that waited has the address without anybody's doing.
	letGo(t, "edge-c")
	eventually(t, has("edge-d", "Connected", "True", v1alpha1.ReasonConnected))
}

func sameServerForAnOrg(t *testing.T, w *world) {
	wc := start(t, testcluster.Options{Hosts: []string{"api.shared.example.net"}})
	w.host("api.shared.example.net", "198.41.0.6", wc)
	register(t, "secret-project", k0{Server: "https://api.shared.example.net"}.text(wc), ofOrg("globex"))
	eventually(t, has("secret-project", "Connected", "True", v1alpha1.ReasonConnected))
	register(t, "acme-copy", k0{Server: "https://api.shared.example.net"}.text(wc), ofOrg("acme"))
	eventually(t, has("acme-copy", "Connected", "False", v1alpha1.ReasonAlreadyRegistered, "another Cluster"))
	c, err := getCluster("acme-copy")
	if err != nil || strings.Contains(fmt.Sprint(c.Status), "secret-project") || strings.Contains(fmt.Sprint(c.Status), "globex") {
		t.Errorf("an org is told of another's cluster: %+v %v", c.Status, err)
	}
}

// addressNotLetThrough is that an address says nothing to an org that may not be dialled for it, and is not taken from anybody.
func addressNotLetThrough(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "squatter", k0{}.text(wc), ofOrg("acme"))
	eventually(t, has("squatter", "Connected", "False", v1alpha1.ReasonAddressRefused))
	register(t, "squatted", k0{}.text(wc))
	eventually(t, has("squatted", "Connected", "True", v1alpha1.ReasonConnected))
	register(t, "prober", k0{}.text(wc), ofOrg("acme"))
	eventually(t, has("prober", "Connected", "False", v1alpha1.ReasonAddressRefused))
}

// sameClusterTwice is one cluster under two addresses.
func sameClusterTwice(t *testing.T, w *world) {
	wc := start(t, testcluster.Options{Hosts: []string{"one.uid.example.net", "two.uid.example.net"}})
	w.host("one.uid.example.net", "192.0.2.60", wc)
	w.host("two.uid.example.net", "192.0.2.61", wc)
	register(t, "uid-one", k0{Server: "https://one.uid.example.net"}.text(wc))
	eventually(t, has("uid-one", "Connected", "True", v1alpha1.ReasonConnected))
	register(t, "uid-two", k0{Server: "https://two.uid.example.net"}.text(wc))
	eventually(t, has("uid-two", "Connected", "False", v1alpha1.ReasonAlreadyRegistered, "uid-one"), absent("argocd", "cluster-uid-two"))
}

// providersOfNodes is that the cloud is read from the nodes, where nobody said it.
func providersOfNodes(t *testing.T, w *world) {
	node := func(id string) testcluster.Node { return testcluster.Node{Name: "n", ProviderID: id} }
	cases := map[string]struct {
		reason, given, want string
		nodes               []testcluster.Node
	}{
		"lke":   {"Linode's own", "", "linode", []testcluster.Node{node("linode://58923456")}},
		"join":  {"the first node is joining just now", "", "linode", []testcluster.Node{node(""), node("linode://58923457")}},
		"k3s":   {"k3s runs anywhere", "", "", []testcluster.Node{node("k3s://host-a")}},
		"given": {"what a person says stays", "linode", "linode", []testcluster.Node{node("k3s://host-a")}},
		"aws":   {"EKS", "", "aws", []testcluster.Node{node("aws:///us-east-1a/i-0abc")}},
		"none":  {"no nodes at all is fine", "", "", nil},
	}
	i := 0
	for name, tc := range cases {
		i++
		b := testcluster.Good()
		b.Nodes = tc.nodes
		wc := start(t, testcluster.Options{Behaviour: &b, Hosts: []string{name + ".us-ord-1.linodelke.net"}})
		w.host(name+".us-ord-1.linodelke.net", fmt.Sprintf("192.0.2.%d", 70+i), wc)
		server := "https://" + name + ".us-ord-1.linodelke.net:443"
		register(t, "a15-"+name, k0{
			Server: server, Current: "current-context: lke12345-ctx",
			Contexts: `[{name: lke12345-ctx, context: {cluster: k, namespace: default, user: lke12345-admin}}]`,
			Users:    `[{name: lke12345-admin, user: {token: S3CR3T.abc}}]`,
		}.text(wc), func(c *v1alpha1.Cluster) { c.Spec.Provider = tc.given })
		eventually(t, has("a15-"+name, "Connected", "True", v1alpha1.ReasonConnected),
			argoHas("a15-"+name, map[string]string{"name": "a15-" + name, "server": server, "config": tokenConfig("S3CR3T.abc", wc)}))
		c, err := getCluster("a15-" + name)
		if err != nil {
			t.Fatal(err)
		}
		if c.Status.Provider != tc.want || c.Status.Nodes.Total == nil || int(*c.Status.Nodes.Total) != len(tc.nodes) {
			t.Errorf("%s: provider %q of %+v nodes, want %q of %d: %s", name, c.Status.Provider, c.Status.Nodes, tc.want, len(tc.nodes), tc.reason)
		}
	}
}

// serverForArgoCD is that Argo CD gets spec.server while the operator goes on using the kubeconfig's address.
func serverForArgoCD(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "two-ways", k0{}.text(wc), func(c *v1alpha1.Cluster) { c.Spec.Server = "https://10.0.0.77:6443/" })
	eventually(t, has("two-ways", "Connected", "True", v1alpha1.ReasonConnected),
		argoHas("two-ways", map[string]string{"name": "two-ways", "server": "https://10.0.0.77:6443", "config": tokenConfig("S3CR3T.abc", wc)}))
	change(t, "two-ways", func(c *v1alpha1.Cluster) { c.Spec.Server = "https://10.0.0.78:6443" })
	eventually(t, func() error {
		data, err := argoData("two-ways")
		if err == nil && data["server"] != "https://10.0.0.78:6443" {
			err = fmt.Errorf("Argo CD dials %s", data["server"])
		}
		return err
	})
	change(t, "two-ways", func(c *v1alpha1.Cluster) { c.Spec.Server = "" })
	eventually(t, func() error {
		data, err := argoData("two-ways")
		if err == nil && data["server"] != wc.URL() {
			err = fmt.Errorf("Argo CD dials %s", data["server"])
		}
		return err
	})
}

// inCluster is the management cluster under another name: no Secret, and no trouble with the one-address rule.
func inCluster(t *testing.T, _ *world) {
	for _, name := range []string{"self", "self-too"} {
		c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{InCluster: true}}
		c.Name = name
		create(t, c)
		t.Cleanup(func() { letGo(t, name) })
		eventually(t, has(name, "Connected", "True", v1alpha1.ReasonConnected), has(name, "Registered", "False", v1alpha1.ReasonAppOfAppsMissing, "by itself"),
			absent("argocd", "cluster-"+name))
	}
	c, err := getCluster("self")
	if err != nil || c.Status.Identity == nil || !c.Status.Identity.ManagementCluster || c.Status.Identity.ServiceAccount != "" {
		t.Errorf("identity of the management cluster: %+v %v", c.Status.Identity, err)
	}
	letGo(t, "self")
	eventually(t, has("management", "Connected", "True", v1alpha1.ReasonConnected))
}

// managementCluster is that the operator makes the one Cluster it runs on.
func managementCluster(t *testing.T, _ *world) {
	eventually(t, has("management", "Connected", "True", v1alpha1.ReasonConnected), absent("argocd", "cluster-management"))
	c, err := getCluster("management")
	if err != nil || c.Spec.Type != v1alpha1.Management || c.Spec.Incarnation != string(c.UID) || c.Status.KubernetesVersion == "" {
		t.Errorf("the management Cluster: %+v %v", c, err)
	}
}

// managementByKubeconfig is that nobody registers the management cluster as if it were another.
func managementByKubeconfig(t *testing.T, _ *world) {
	eventually(t, has("management", "Connected", "True", v1alpha1.ReasonConnected))
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %q}}], users: [{name: u, user: {token: %q}}]}`,
		env.Operator.Host, b64(env.Admin.CAData), env.Operator.BearerToken)
	register(t, "disguised", []byte(text))
	eventually(t, has("disguised", "Connected", "False", v1alpha1.ReasonAlreadyRegistered, "spec.inCluster"), absent("argocd", "cluster-disguised"))
}

// TestLoopbackIsRefused is the case of an address that only this machine knows, for an operator that nobody told otherwise.
func TestLoopbackIsRefused(t *testing.T) {
	wc := start(t, testcluster.Options{})
	env.RunOperator(t, func(o *operator.Options) { o.Allow = nil })
	port := wc.Address()[strings.LastIndex(wc.Address(), ":"):]
	for name, host := range map[string]string{"a14-ip": "127.0.0.1", "a14-name": "localhost", "a14-any": "0.0.0.0"} {
		register(t, name, k0{Server: "https://" + host + port}.text(wc))
		eventually(t, has(name, "Connected", "False", v1alpha1.ReasonAddressRefused, "this machine"), absent("argocd", "cluster-"+name))
	}
	if n := wc.RequestCount(); n > 0 {
		t.Errorf("%d requests came through", n)
	}
}

// TestManagementNameTaken is a Cluster that somebody made under the name before the operator ran for the first time.
func TestManagementNameTaken(t *testing.T) {
	wc := start(t, testcluster.Options{})
	create(t, kubeconfigSecret("headquarters", k0{}.text(wc)))
	create(t, workload("headquarters"))
	env.RunOperator(t, func(o *operator.Options) { o.ManagementName = "headquarters" })
	eventually(t, has("headquarters", "Connected", "False", v1alpha1.ReasonAlreadyRegistered, "under another name"), absent("argocd", "cluster-headquarters"))
	confirmAndDelete(t, "headquarters")
	eventually(t, has("headquarters", "Connected", "True", v1alpha1.ReasonConnected), func() error {
		c, err := getCluster("headquarters")
		if err == nil && c.Spec.Type != v1alpha1.Management {
			err = fmt.Errorf("it is still of type %s", c.Spec.Type)
		}
		return err
	})
}
