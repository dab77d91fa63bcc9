// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/testcluster/testdns"
	"darkshift.io/infrared/sdk/dial"
)

// names are a name server's; nothing they point to is ever dialled.
func names(t *testing.T) *testdns.Server {
	t.Helper()
	s := testdns.Start(t)
	a := testdns.Addrs
	s.Set("public.example.net", a("198.41.0.4"))
	s.Set("public6.example.net", a("2001:503:ba3e::2:30"))
	s.Set("private.example.net", a("10.0.0.5"))
	s.Set("loop.example.net", a("127.0.0.1", "::1"))
	s.Set("meta.example.net", a("169.254.169.254"))
	s.Set("mixed.example.net", a("10.0.0.5", "198.41.0.4"))
	s.Set("mixed6.example.net", a("fd00::1", "198.41.0.4", "2001:503:ba3e::2:30"))
	s.Set("rebind.example.net", a("198.41.0.4"), a("10.0.0.5"))
	s.Set("kinds.example.net", a("127.0.0.1", "169.254.169.254", "127.0.0.2"))
	s.Set("nothing.example.net", nil)
	s.Set("public.svc.example.net", a("198.41.0.4"))
	for _, inside := range []string{"kubernetes.default.svc", "printer.local", "x.internal", "a.localhost", "edge"} {
		s.Set(inside, a("198.41.0.4"))
	}
	s.Set("metadata.google.internal", a("198.41.0.4"))
	s.Set("xn--bcher-kva.example.net", a("198.41.0.4"))
	s.Fail("broken.example.net")
	return s
}

// spy connects to nothing and remembers what it was asked for.
type spy struct {
	mu    sync.Mutex
	addrs []string
}

var errNotDialled = errors.New("nothing is dialled in this test")

func (s *spy) dial(_ context.Context, _ string, addr netip.AddrPort) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = append(s.addrs, addr.String())
	return nil, errNotDialled
}

type verdict struct {
	reason string
	// dialled is what would have been; none means refused.
	org, platform []string
	// checkOrg says whether CheckHost passes for an organisation.
	checkOrg bool
}

// hosts are what kubeconfigs name: field case H03, and more of its kind.
func hosts() map[string]verdict {
	one := []string{"198.41.0.4:6443"}
	ten := []string{"10.0.0.5:6443"}
	return map[string]verdict{
		"public.example.net":        {"a name of a public address", one, one, true},
		"PUBLIC.Example.NET.":       {"case, and a dot at the end", one, one, true},
		"public6.example.net":       {"IPv6", []string{"[2001:503:ba3e::2:30]:6443"}, []string{"[2001:503:ba3e::2:30]:6443"}, true},
		"198.41.0.4":                {"an address", one, one, true},
		"bücher.example.net":        {"an international name", one, one, true},
		"public.svc.example.net":    {"svc in the middle is a name like any other", one, one, true},
		"private.example.net":       {"a name of a private address", nil, ten, false},
		"mixed.example.net":         {"only the public one is dialled, and Argo CD could take the other", one, []string{"10.0.0.5:6443", "198.41.0.4:6443"}, false},
		"mixed6.example.net":        {"same over IPv6", []string{"198.41.0.4:6443", "[2001:503:ba3e::2:30]:6443"}, []string{"198.41.0.4:6443", "[2001:503:ba3e::2:30]:6443", "[fd00::1]:6443"}, false},
		"loop.example.net":          {"a name of loopback", nil, nil, false},
		"meta.example.net":          {"a name of metadata", nil, nil, false},
		"kinds.example.net":         {"several kinds", nil, nil, false},
		"nothing.example.net":       {"a name without an address", nil, nil, false},
		"unknown.example.net":       {"a name that does not exist", nil, nil, false},
		"10.0.0.1":                  {"RFC 1918", nil, []string{"10.0.0.1:6443"}, false},
		"172.31.255.1":              {"RFC 1918", nil, []string{"172.31.255.1:6443"}, false},
		"192.168.1.1":               {"RFC 1918", nil, []string{"192.168.1.1:6443"}, false},
		"100.64.0.1":                {"CGNAT", nil, []string{"100.64.0.1:6443"}, false},
		"169.254.169.254":           {"metadata", nil, nil, false},
		"::ffff:169.254.169.254":    {"mapped metadata", nil, nil, false},
		"fd00:ec2::254":             {"metadata", nil, nil, false},
		"64:ff9b::a9fe:a9fe":        {"NAT64 of metadata", nil, nil, false},
		"127.0.0.2":                 {"loopback", nil, nil, false},
		"0.0.0.0":                   {"this machine", nil, nil, false},
		"::1":                       {"loopback", nil, nil, false},
		"fe80::1":                   {"link-local", nil, nil, false},
		"2130706433":                {"127.0.0.1 to some resolvers", nil, nil, false},
		"0x7f000001":                {"same", nil, nil, false},
		"0x7f.1":                    {"same", nil, nil, false},
		"127.1":                     {"same", nil, nil, false},
		"0177.0.0.1":                {"octal", nil, nil, false},
		"127.0.0.1.":                {"an address with a dot", nil, nil, false},
		"１２７.０.０.１":                 {"full-width digits", nil, nil, false},
		"１６９。254。169。254":           {"full-width dots", nil, nil, false},
		"8.8.8.08":                  {"not an address, and no name", nil, nil, false},
		"kubernetes.default.svc":    {"a name inside this cluster", nil, one, false},
		"printer.local":             {"a name of the link", nil, one, false},
		"x.internal":                {"a name inside a network", nil, one, false},
		"a.localhost":               {"this machine by its name", nil, one, false},
		"edge":                      {"one label: a search list completes it", nil, one, false},
		"metadata.google.internal":  {"metadata, whatever it resolves to", nil, nil, false},
		"METADATA.google.internal.": {"same", nil, nil, false},
		"localhost.":                {"this machine", nil, nil, false},
		"a..example.net":            {"no name", nil, nil, false},
		"":                          {"nothing", nil, nil, false},
		"a b":                       {"no name", nil, nil, false},
		"evil.example.net/x":        {"no name", nil, nil, false},
	}
}

func TestDialContext(t *testing.T) {
	for host, tc := range hosts() {
		t.Run(host, func(t *testing.T) {
			for who, want := range map[string][]string{"org": tc.org, "platform": tc.platform} {
				var s spy
				policy := dial.Policy{Private: who == "platform", Resolver: names(t).Resolver(), DialAddr: s.dial}
				conn, err := policy.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "6443"))
				if conn != nil || err == nil {
					t.Fatalf("%s: connected", who)
				}
				slices.Sort(s.addrs)
				if diff := cmp.Diff(want, s.addrs); diff != "" {
					t.Errorf("%s (%s): would dial, want - got +:\n%s", who, tc.reason, diff)
				}
				var refused *dial.RefusedError
				var lookup *net.DNSError
				if want == nil && !errors.As(err, &refused) && !errors.As(err, &lookup) {
					t.Errorf("%s: %v, want a refusal", who, err)
				}
			}
		})
	}
}

func TestCheckHost(t *testing.T) {
	for host, tc := range hosts() {
		t.Run(host, func(t *testing.T) {
			var s spy
			org := dial.Policy{Resolver: names(t).Resolver(), DialAddr: s.dial}
			if err := org.CheckHost(t.Context(), host); (err == nil) != tc.checkOrg {
				t.Errorf("org: CheckHost gave %v, pass should be %v: %s", err, tc.checkOrg, tc.reason)
			}
			platform := dial.Policy{Private: true, Resolver: names(t).Resolver(), DialAddr: s.dial}
			if err := platform.CheckHost(t.Context(), host); (err == nil) != (tc.platform != nil) {
				t.Errorf("platform: CheckHost gave %v, pass should be %v: %s", err, tc.platform != nil, tc.reason)
			}
			if len(s.addrs) > 0 {
				t.Errorf("CheckHost dialled %v", s.addrs)
			}
		})
	}
}

// A name that is public when it is checked and private when it is dialled.
func TestRebinding(t *testing.T) {
	var s spy
	policy := dial.Policy{Resolver: names(t).Resolver(), DialAddr: s.dial}
	if err := policy.CheckHost(t.Context(), "rebind.example.net"); err != nil {
		t.Fatalf("the first look is public: %v", err)
	}
	_, err := policy.DialContext(t.Context(), "tcp", "rebind.example.net:6443")
	var refused *dial.RefusedError
	if !errors.As(err, &refused) || len(s.addrs) > 0 {
		t.Errorf("DialContext gave %v and would dial %v, want a refusal", err, s.addrs)
	}
}

// One sentence for everything, or the error is a map of the network this runs in.
func TestRefusalTellsAnOrgNothing(t *testing.T) {
	policy := dial.Policy{Resolver: names(t).Resolver(), DialAddr: new(spy).dial}
	texts := map[string]bool{}
	for host, tc := range hosts() {
		if tc.org != nil {
			continue
		}
		_, err := policy.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "6443"))
		var refused *dial.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", host, err)
			continue
		}
		texts[refused.Message] = true
		if !strings.Contains(err.Error(), "public address") {
			t.Errorf("%s: the message does not say what is wanted: %v", host, err)
		}
	}
	if len(texts) != 1 {
		t.Errorf("%d different messages: %v", len(texts), texts)
	}
}

func TestRefusalTellsThePlatformWhy(t *testing.T) {
	policy := dial.Policy{Private: true, Resolver: names(t).Resolver(), DialAddr: new(spy).dial}
	for host, want := range map[string]string{
		"127.0.0.1":           `the host "127.0.0.1" is refused: its address is a loopback address, which is this machine itself`,
		"0.0.0.0":             `the host "0.0.0.0" is refused: its address is an unspecified address, which is this machine itself`,
		"kinds.example.net":   `the host "kinds.example.net" is refused: its address is a cloud's metadata service and a loopback address, which is this machine itself`,
		"169.254.169.254":     `the host "169.254.169.254" is refused: its address is a cloud's metadata service`,
		"127.1":               `the host "127.1" is refused: it is not a host name, and not an IP address in its usual form`,
		"fe80::1":             `the host "fe80::1" is refused: its address is a link-local address, which only this machine's link knows`,
		"::ffff:169.254.1.1":  `the host "::ffff:169.254.1.1" is refused: its address is a link-local address, which only this machine's link knows`,
		"2002:7f00:1::1":      `the host "2002:7f00:1::1" is refused: its address is a loopback address, which is this machine itself`,
		"metadata.goog":       `the host "metadata.goog" is refused: its address is a cloud's metadata service`,
		"-" + "x.example.net": `the host "-x.example.net" is refused: it is not a host name or an IP address`,
	} {
		_, err := policy.DialContext(t.Context(), "tcp", net.JoinHostPort(host, "6443"))
		if diff := cmp.Diff(want, errText(err)); diff != "" {
			t.Errorf("%s, want - got +:\n%s", host, diff)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A lookup that fails for now is no refusal: it may pass the next time.
func TestLookupFailure(t *testing.T) {
	for who, policy := range map[string]dial.Policy{"org": dial.PublicOnly(), "platform": dial.Platform()} {
		policy.Resolver = names(t).Resolver()
		var refused *dial.RefusedError
		if err := policy.CheckHost(t.Context(), "broken.example.net"); err == nil || errors.As(err, &refused) {
			t.Errorf("%s: CheckHost gave %v, want a failure that is no refusal", who, err)
		}
	}
}

// The search list of a pod's resolv.conf must not complete an organisation's name into one of this cluster.
func TestOrgNamesAreAbsolute(t *testing.T) {
	s := names(t)
	policy := dial.Policy{Resolver: s.Resolver(), DialAddr: new(spy).dial}
	_ = policy.CheckHost(t.Context(), "unknown.example.net")
	if diff := cmp.Diff([]string{"unknown.example.net."}, s.Asked()); diff != "" {
		t.Errorf("asked for, want - got +:\n%s", diff)
	}
}

// The check stands in the dialer's own hook, not only before it: a real listener sees nothing.
func TestListenerSeesNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan string, 8)
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn.RemoteAddr().String()
			_ = conn.Close()
		}
	}()
	address := listener.Addr().String()

	plain := net.Dialer{ControlContext: dial.PublicOnly().Control}
	if _, err := plain.DialContext(t.Context(), "tcp", address); err == nil {
		t.Error("the hook let a dialer through to loopback")
	}
	for who, policy := range map[string]dial.Policy{"org": dial.PublicOnly(), "platform": dial.Platform()} {
		if _, err := policy.DialContext(t.Context(), "tcp", address); err == nil {
			t.Errorf("%s: connected to loopback", who)
		}
	}
	conn, err := dial.Platform(loopback).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("what is allowed does not connect: %v", err)
	}
	mine := conn.LocalAddr().String()
	_ = conn.Close()
	if got := <-accepted; got != mine {
		t.Errorf("the listener's first connection is from %s, want %s", got, mine)
	}
	_ = listener.Close()
	for from := range accepted {
		t.Errorf("another connection, from %s", from)
	}
}

func TestHTTPTransport(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.7:3128")
	config := &tls.Config{ServerName: "x"}
	transport := dial.PublicOnly().HTTPTransport(config)
	if transport.Proxy != nil {
		t.Error("the transport asks the environment for a proxy")
	}
	if transport.TLSClientConfig.MinVersion < tls.VersionTLS12 || transport.TLSClientConfig.ServerName != "x" {
		t.Errorf("the TLS settings are %+v", transport.TLSClientConfig)
	}
	if config.MinVersion != 0 {
		t.Error("the caller's TLS settings were changed")
	}
	if dial.PublicOnly().HTTPTransport(nil).TLSClientConfig.MinVersion != tls.VersionTLS12 {
		t.Error("without settings TLS older than 1.2 is spoken")
	}
}
