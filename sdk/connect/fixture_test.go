// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testcluster/testdns"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// local is the policy that reaches test clusters.
func local() dial.Policy { return dial.Platform(netip.MustParsePrefix("127.0.0.0/8")) }

// read reads a kubeconfig that must be good.
func read(t testing.TB, text []byte) *kubeconfig.Config {
	t.Helper()
	c, err := kubeconfig.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// target is a good way into a test cluster.
func target(t testing.TB, s *testcluster.Server) connect.Target {
	t.Helper()
	return connect.Target{Config: read(t, s.Kubeconfig(testcluster.KubeconfigOptions{})), Policy: local()}
}

// behaving is how a test cluster begins.
func behaving(change func(*testcluster.Behaviour)) testcluster.Options {
	b := testcluster.Good()
	change(&b)
	return testcluster.Options{Behaviour: &b}
}

// elsewhere connects every address that passes the policy to s, and knows names by a name server of ours.
func elsewhere(t testing.TB, policy dial.Policy, s *testcluster.Server, names map[string][]netip.Addr) dial.Policy {
	t.Helper()
	dns := testdns.Start(t)
	for name, addrs := range names {
		dns.Set(name, addrs)
	}
	policy.Resolver = dns.Resolver()
	policy.DialAddr = func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, s.Address())
	}
	return policy
}

// wantError fails unless err is of the kind and its message matches, and holds nothing that changes or must not be shown.
func wantError(t testing.TB, err error, kind connect.Kind, match string) {
	t.Helper()
	var e *connect.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an error of kind %s", err, kind)
	}
	if e.Kind != kind {
		t.Errorf("the kind is %s, want %s: %v", e.Kind, kind, err)
	}
	if !regexp.MustCompile(`(?i)` + match).MatchString(err.Error()) {
		t.Errorf("the message does not match %q: %v", match, err)
	}
	for _, never := range []string{"S3CR3T", "->", "tls:", "x509:", "read tcp", "dial tcp", "context deadline", "test cluster answers"} {
		if strings.Contains(err.Error(), never) {
			t.Errorf("the message holds %q: %v", never, err)
		}
	}
}

// quickly fails when more time went by than a bounded call may take.
func quickly(t testing.TB, most time.Duration) {
	t.Helper()
	begin := time.Now()
	t.Cleanup(func() {
		if took := time.Since(begin); took > most {
			t.Errorf("it took %s, at most %s is bearable", took.Round(time.Millisecond), most)
		}
	})
}
