// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testcluster/testdns"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/connect"
)

// world is the outside as the operator of TestCases sees it: names that resolve to addresses, of which some are test clusters. What
// has no test cluster behind it is never dialled for real, and noted.
type world struct {
	dns *testdns.Server

	mu     sync.Mutex
	at     map[netip.Addr]string
	dialed []netip.AddrPort
}

// host makes a name resolve to an address behind which a test cluster is, whatever the port.
func (w *world) host(name, address string, wc *testcluster.Server) {
	w.dns.Set(name, testdns.Addrs(address))
	w.put(address, wc)
}

func (w *world) put(address string, wc *testcluster.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at[netip.MustParseAddr(address)] = wc.Address()
}

// dials is how often an address was dialled, after the policy let it pass.
func (w *world) dials(address string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, d := range w.dialed {
		if d.Addr() == netip.MustParseAddr(address) {
			n++
		}
	}
	return n
}

func (w *world) dial(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	to := w.at[addr.Addr()]
	w.dialed = append(w.dialed, addr)
	w.mu.Unlock()
	var d net.Dialer
	switch {
	case addr.Addr().IsLoopback():
		return d.DialContext(ctx, network, addr.String())
	case to != "":
		return d.DialContext(ctx, network, to)
	}
	return nil, fmt.Errorf("nothing is at %s", addr)
}

func (w *world) connect(ctx context.Context, t connect.Target) (connect.Cluster, error) {
	t.Policy.Resolver, t.Policy.DialAddr = w.dns.Resolver(), w.dial
	return connect.Connect(ctx, t)
}

// TestCases runs every case that can share one operator, most of them at once.
func TestCases(t *testing.T) {
	ran := forgedPrograms(t)
	w := &world{dns: testdns.Start(t), at: map[netip.Addr]string{}}
	env.RunOperator(t, func(o *operator.Options) { o.Connect = w.connect })
	groups := map[string]map[string]func(*testing.T, *world){
		"refused":  refusedKubeconfigs(t),
		"accepted": acceptedKubeconfigs(),
		"servers":  serverCases(),
		"replaced": replacementCases(),
		"secrets":  secretCases(),
		"hostile":  hostileCases(),
		"again":    againCases(),
		"patches":  patchCases(),
	}
	t.Run("all", func(t *testing.T) {
		for group, cases := range groups {
			for name, run := range cases {
				t.Run(group+"/"+name, func(t *testing.T) {
					t.Parallel()
					run(t, w)
				})
			}
		}
	})
	if entries, err := os.ReadDir(ran); err != nil || len(entries) > 0 {
		t.Errorf("programs that kubeconfigs name were run: %v %v", entries, err)
	}
	noSecretAnywhere(t)
}

// forgedPrograms puts programs of the names that kubeconfigs call first on the PATH, and returns the directory in which each leaves a
// file when it is run.
func forgedPrograms(t *testing.T) string {
	t.Helper()
	bin, ran := t.TempDir(), t.TempDir()
	for _, name := range []string{"aws", "gke-gcloud-auth-plugin", "kubelogin", "aws-iam-authenticator", "gcloud"} {
		script := fmt.Sprintf("#!/bin/sh\ntouch %q\n", filepath.Join(ran, name))
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return ran
}

// noSecretAnywhere looks for the marker that every credential of these tests carries where anybody may look.
func noSecretAnywhere(t *testing.T) {
	t.Helper()
	const marker = "S3CR3T"
	for _, kind := range []string{"clusters", "deletionrecords", "events.v1.events.k8s.io", "configmaps"} {
		out, err := env.Kubectl(t.Context(), "get", kind, "-A", "-o", "yaml", "--show-managed-fields")
		if err != nil {
			t.Fatalf("listing %s: %v: %s", kind, err, out)
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, marker) {
				t.Errorf("a secret shows in %s: %s", kind, line)
			}
		}
	}
	if lines := operatorLog.linesWith(marker); len(lines) > 0 {
		t.Errorf("a secret shows in the operator's log: %s", lines[0])
	}
}

// k0 is the plainest kubeconfig of the field cases, in parts that a case changes.
type k0 struct {
	Server, Cluster, Clusters, Contexts, Current, User, Users string
}

// text puts the parts together, for a cluster with the CA of wc, at wc unless a part says otherwise.
func (k k0) text(wc *testcluster.Server) []byte {
	or := func(s, standard string) string {
		if s == "" {
			s = standard
		}
		return strings.NewReplacer("{{CA}}", b64(wc.CA().PEM()), "{{WC}}", wc.URL()).Replace(s)
	}
	server := or(k.Server, "{{WC}}")
	cluster := or(k.Cluster, fmt.Sprintf(`{server: %q, certificate-authority-data: "{{CA}}"}`, server))
	return []byte(strings.Join([]string{
		"apiVersion: v1",
		"kind: Config",
		"clusters: " + or(k.Clusters, "[{name: k, cluster: "+cluster+"}]"),
		"contexts: " + or(k.Contexts, "[{name: c, context: {cluster: k, user: u}}]"),
		or(k.Current, "current-context: c"),
		"users: " + or(k.Users, "[{name: u, user: "+or(k.User, `{token: "S3CR3T.abc"}`)+"}]"),
	}, "\n") + "\n")
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// refusedWith is nil when Connected is False with a message that matches.
func refusedWith(name, pattern string) func() error {
	re := regexp.MustCompile("(?i)" + pattern)
	return func() error {
		c, err := getCluster(name)
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionConnected)
		if found == nil || found.Status != "False" || !re.MatchString(found.Message) {
			return fmt.Errorf("%s is to be refused with %s: %+v", name, pattern, found)
		}
		return nil
	}
}

// argoData is Argo CD's Secret of a Cluster as text, or why there is none.
func argoData(name string) (map[string]string, error) {
	secret, err := getSecret("argocd", "cluster-"+name)
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	return data, nil
}

// argoHas is nil when Argo CD's Secret of a Cluster has these under its keys.
func argoHas(name string, want map[string]string) func() error {
	return func() error {
		got, err := argoData(name)
		if err != nil {
			return err
		}
		if !maps.Equal(want, got) {
			return fmt.Errorf("Argo CD's Secret of %s holds\n%v, want\n%v", name, got, want)
		}
		return nil
	}
}

// tokenConfig is the text under config for a token and the CA of wc.
func tokenConfig(token string, wc *testcluster.Server) string {
	return fmt.Sprintf(`{"bearerToken":%q,"tlsClientConfig":{"insecure":false,"caData":%q}}`, token, b64(wc.CA().PEM()))
}

// eventually is testenv.Eventually; the checks must hold at one moment, one after the other.
func eventually(t *testing.T, checks ...func() error) {
	t.Helper()
	testenv.Eventually(t, func() error {
		for _, check := range checks {
			if err := check(); err != nil {
				return err
			}
		}
		return nil
	})
}
