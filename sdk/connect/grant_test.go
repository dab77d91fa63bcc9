// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// cluster is a real API server.
type cluster struct {
	t     *testing.T
	plane *devstack.ControlPlane
	admin provider.Endpoint
}

func startCluster(t *testing.T, args ...string) cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	plane, err := devstack.StartControlPlane(ctx, devstack.Options{
		Dir: t.TempDir(), Name: "built", UnsafeNoFsync: true, Components: []string{devstack.Etcd, devstack.APIServer}, APIServerArgs: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	text, err := os.ReadFile(plane.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return cluster{t: t, plane: plane, admin: connect.EndpointOf(*read(t, text))}
}

func (c cluster) kubectl(args ...string) string {
	c.t.Helper()
	out, err := c.plane.Kubectl(c.t.Context(), args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// secrets are the Secrets of tokens, sorted.
func (c cluster) secrets() []string {
	c.t.Helper()
	names := strings.Fields(c.kubectl("-n", "kube-system", "get", "secrets", "-l", "app.kubernetes.io/managed-by=infrared", "-o", "name"))
	slices.Sort(names)
	return names
}

// here is a request of the platform's on this machine.
func here(lifetime time.Duration) provider.ConnectRequest {
	return provider.ConnectRequest{PrivateAddresses: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RenewToken: lifetime}
}

func (c cluster) grant(by provider.Endpoint, lifetime time.Duration) provider.Endpoint {
	c.t.Helper()
	made, err := connect.Grant(c.t.Context(), by, here(lifetime))
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

// serve is what a look with an endpoint says.
func (c cluster) serve(e provider.Endpoint) error {
	c.t.Helper()
	req := here(0)
	req.Endpoint = &e
	got, err := connect.Serve(c.t.Context(), req)
	if err == nil && (got.Identity.KubeSystemUID == "" || len(got.NotLooked) > 0) {
		c.t.Errorf("the account may not see everything: %+v", got.NotLooked)
	}
	return err
}

// refused waits until an endpoint's token is taken no more: an API server remembers a good one for a few seconds.
func (c cluster) refused(e provider.Endpoint) {
	c.t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		err := c.serve(e)
		if errors.Is(err, provider.Unauthenticated) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			c.t.Fatalf("the token is still taken: %v", err)
		}
	}
}

func TestGrant(t *testing.T) {
	c := startCluster(t)
	begin := time.Now()
	first := c.grant(c.admin, 0)
	if err := c.serve(first); err != nil {
		t.Fatalf("the token does not work: %v", err)
	}
	if left := first.Expiry.Sub(begin); left < 7*24*time.Hour-time.Minute || left > 7*24*time.Hour+time.Minute {
		t.Errorf("the token ends after %s, want 7 days", left)
	}
	if first.Server != c.admin.Server || !cmp.Equal(first.CA, c.admin.CA) || len(first.ClientCertificate) > 0 || !first.ClientKey.IsZero() {
		t.Errorf("the way in is %+v, want the same server, and the token alone", first)
	}
	if got := c.kubectl("auth", "can-i", "*", "*", "--all-namespaces", "--as=system:serviceaccount:kube-system:infrared"); got != "yes" {
		t.Errorf("the account may do everything: %s", got)
	}

	// A renewal needs nothing but the token itself.
	second := c.grant(first, time.Hour)
	third := c.grant(second, time.Hour)
	if diff := cmp.Diff([]string{"secret/infrared-token-2", "secret/infrared-token-3"}, c.secrets()); diff != "" {
		t.Errorf("Secrets after three tokens (-want +got):\n%s", diff)
	}
	for name, e := range map[string]provider.Endpoint{"second": second, "third": third} {
		if err := c.serve(e); err != nil {
			t.Errorf("the %s token: %v", name, err)
		}
	}
	c.refused(first)

	// Whoever deletes its Secret withdraws a token.
	c.kubectl("-n", "kube-system", "delete", "secret", "infrared-token-3")
	c.refused(third)
	if err := c.serve(second); err != nil {
		t.Errorf("the other token: %v", err)
	}
}

// A host that forgets what it got goes on using the token that it remembers.
func TestGrantForgotten(t *testing.T) {
	c := startCluster(t)
	remembered := c.grant(c.admin, time.Hour)
	for range 4 {
		c.grant(remembered, time.Hour)
	}
	if err := c.serve(remembered); err != nil {
		t.Errorf("the token in use was withdrawn: %v", err)
	}
	if diff := cmp.Diff([]string{"secret/infrared-token-1", "secret/infrared-token-2"}, c.secrets()); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
	// The same by an administrator, who has no token of ours.
	var newest provider.Endpoint
	for range 4 {
		newest = c.grant(c.admin, time.Hour)
	}
	if err := c.serve(newest); err != nil || len(c.secrets()) != 2 {
		t.Errorf("after four by an administrator: %v, %v", err, c.secrets())
	}
}

// The cluster decides how long a token lives.
func TestGrantShorter(t *testing.T) {
	c := startCluster(t, "--service-account-max-token-expiration=2h", "--service-account-extend-token-expiration=false")
	begin := time.Now()
	for lifetime, want := range map[time.Duration]time.Duration{0: 2 * time.Hour, time.Second: 10 * time.Minute, time.Hour: time.Hour} {
		made := c.grant(c.admin, lifetime)
		if left := made.Expiry.Sub(begin); left < want-time.Minute || left > want+time.Minute {
			t.Errorf("asked for %s, it ends after %s, want %s", lifetime, left, want)
		}
	}
}

func TestGrantBinding(t *testing.T) {
	c := startCluster(t)
	c.kubectl("create", "clusterrolebinding", "infrared", "--clusterrole=cluster-admin", "--user=somebody")
	c.grant(c.admin, time.Hour)
	subjects := c.kubectl("get", "clusterrolebinding", "infrared", "-o", "jsonpath={.subjects[*].name}")
	if subjects != "somebody infrared" {
		t.Errorf("the binding is of %q, want the other subject to stay", subjects)
	}
	c.kubectl("delete", "clusterrolebinding", "infrared")
	c.kubectl("create", "clusterrolebinding", "infrared", "--clusterrole=view", "--user=somebody")
	_, err := connect.Grant(t.Context(), c.admin, here(time.Hour))
	if !errors.Is(err, provider.Conflict) || !strings.Contains(err.Error(), "delete it or give it another name") {
		t.Errorf("another's binding: %v", err)
	}
	if got := c.kubectl("get", "clusterrolebinding", "infrared", "-o", "jsonpath={.roleRef.name}"); got != "view" {
		t.Errorf("another's binding is now to %s", got)
	}
}

func TestGrantRefused(t *testing.T) {
	c := startCluster(t)
	c.kubectl("-n", "kube-system", "create", "serviceaccount", "weak")
	weak := c.admin
	weak.ClientCertificate, weak.ClientKey = nil, provider.Secret{}
	weak.Token = provider.NewSecret(c.kubectl("-n", "kube-system", "create", "token", "weak"))
	wrong := weak
	wrong.Token = provider.NewSecret("S3CR3T")
	for name, tc := range map[string]struct {
		reason string
		by     provider.Endpoint
		req    provider.ConnectRequest
		kind   provider.ErrorKind
		field  string
		words  string
	}{
		"weak":   {"it may make nothing", weak, here(0), provider.Denied, "", "make the ServiceAccount kube-system/infrared: it needs the ClusterRole cluster-admin"},
		"wrong":  {"it is nobody's", wrong, here(0), provider.Unauthenticated, "", "does not take the credential"},
		"policy": {"an org's cluster has a public address", c.admin, provider.ConnectRequest{}, provider.Invalid, connect.FieldServer, "address can't be used"},
		"no way": {"it can't be read", provider.Endpoint{Server: "nowhere"}, here(0), provider.Invalid, connect.FieldEndpoint, "https"},
	} {
		_, err := connect.Grant(t.Context(), tc.by, tc.req)
		var e *provider.Error
		if !errors.As(err, &e) || e.Kind != tc.kind || e.Field != tc.field || !strings.Contains(e.Message, tc.words) {
			t.Errorf("%s: %v (%s), want %s with %q: %s", name, err, provider.KindOf(err), tc.kind, tc.words, tc.reason)
		}
		if err != nil && strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("%s: a secret is in the error: %v", name, err)
		}
	}
	if out := c.kubectl("-n", "kube-system", "get", "serviceaccounts", "-o", "name"); strings.Contains(out, "infrared") {
		t.Errorf("something was made all the same: %s", out)
	}
}

// TestGrantElsewhere is that another server than an API server is asked for nothing that could mean something to it.
func TestGrantElsewhere(t *testing.T) {
	s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) { b.Body = "<html>" }))
	e := connect.EndpointOf(*read(t, s.Kubeconfig(testcluster.KubeconfigOptions{Token: "S3CR3T"})))
	_, err := connect.Grant(t.Context(), e, here(0))
	var typed *provider.Error
	if !errors.As(err, &typed) || typed.Field != connect.FieldAPI {
		t.Errorf("got %v, want Invalid of %s", err, connect.FieldAPI)
	}
	var asked []string
	for _, r := range s.Requests() {
		asked = append(asked, r.Path)
	}
	if diff := cmp.Diff([]string{"/version"}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	s.Close()
	if _, err := connect.Grant(t.Context(), e, here(0)); !errors.Is(err, provider.Unavailable) {
		t.Errorf("a server that is away: %v", err)
	}
}
