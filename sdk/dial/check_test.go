// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"net/netip"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/dial"
)

// loopback is what a stack on one machine allows.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// TestCheck holds the addresses that Go's own methods miss, and the forms in which an address hides.
func TestCheck(t *testing.T) {
	// who may dial: an organisation, the platform, the platform with loopback allowed
	const (
		all      = "org platform local"
		platform = "platform local"
		local    = "local"
		nobody   = ""
	)
	tests := map[string]struct{ reason, may string }{
		"8.8.8.8":                         {"public", all},
		"1.1.1.1":                         {"public", all},
		"172.15.255.255":                  {"right before RFC 1918", all},
		"172.32.0.0":                      {"right after RFC 1918", all},
		"100.63.255.255":                  {"right before carrier-grade NAT", all},
		"100.128.0.0":                     {"right after it", all},
		"198.17.255.255":                  {"right before the benchmarks' net", all},
		"198.20.0.0":                      {"right after it", all},
		"223.255.255.255":                 {"right before multicast", all},
		"11.0.0.0":                        {"right after 10/8", all},
		"2600:1f18::1":                    {"public IPv6", all},
		"2a01:4f8::1":                     {"public IPv6", all},
		"2001:4860:4860::8888":            {"public IPv6, near Teredo", all},
		"::ffff:8.8.8.8":                  {"Go dials the address inside, which is public", all},
		"64:ff9b::808:808":                {"how an IPv6-only network reaches 8.8.8.8", all},
		"10.0.0.1":                        {"RFC 1918", platform},
		"172.16.0.1":                      {"RFC 1918", platform},
		"172.31.255.1":                    {"RFC 1918", platform},
		"192.168.1.1":                     {"RFC 1918", platform},
		"100.64.0.1":                      {"carrier-grade NAT, no IsPrivate", platform},
		"100.127.255.255":                 {"its end", platform},
		"192.0.0.1":                       {"protocol assignments, no IsPrivate", platform},
		"192.0.2.1":                       {"documentation", platform},
		"198.51.100.1":                    {"documentation", platform},
		"203.0.113.1":                     {"documentation", platform},
		"192.88.99.1":                     {"6to4 relays", platform},
		"198.18.0.1":                      {"benchmarks, no IsPrivate", platform},
		"198.19.255.255":                  {"benchmarks", platform},
		"240.0.0.1":                       {"class E, no IsPrivate", platform},
		"fc00::1":                         {"unique local", platform},
		"fd12:3456::1":                    {"unique local", platform},
		"fec0::1":                         {"site-local", platform},
		"2001:db8::1":                     {"documentation", platform},
		"3fff::1":                         {"documentation", platform},
		"2001:20::1":                      {"ORCHID", platform},
		"4000::1":                         {"never handed out", platform},
		"100::1":                          {"discard", platform},
		"::ffff:10.0.0.1":                 {"mapped RFC 1918", platform},
		"64:ff9b::a00:1":                  {"NAT64 of 10.0.0.1", platform},
		"64:ff9b:1::808:808":              {"a NAT64 prefix of one network", platform},
		"2002:808:808::1":                 {"6to4 of a public address is no honest API server", platform},
		"2002:a00:1::1":                   {"6to4 of 10.0.0.1", platform},
		"2001:0:808:808::f7f7:f7f7":       {"Teredo of public addresses", platform},
		"::8.8.8.8":                       {"IPv4-compatible", platform},
		"2600::5efe:a00:1":                {"ISATAP of 10.0.0.1", platform},
		"127.0.0.1":                       {"loopback", local},
		"127.0.0.2":                       {"all of 127/8", local},
		"::ffff:127.0.0.1":                {"mapped loopback is what is allowed", local},
		"::1":                             {"only 127/8 was allowed", nobody},
		"0.0.0.0":                         {"Linux dials itself", nobody},
		"0.1.2.3":                         {"this network", nobody},
		"::":                              {"unspecified", nobody},
		"169.254.1.1":                     {"link-local", nobody},
		"fe80::1":                         {"link-local", nobody},
		"fe80::1%eth0":                    {"link-local with a zone", nobody},
		"2600::1%eth0":                    {"a zone makes any address local", nobody},
		"224.0.0.1":                       {"multicast", nobody},
		"239.1.2.3":                       {"multicast, organisation's", nobody},
		"255.255.255.255":                 {"broadcast", nobody},
		"ff02::1":                         {"multicast", nobody},
		"ff0e::1":                         {"multicast, global", nobody},
		"169.254.169.254":                 {"metadata", nobody},
		"169.254.170.2":                   {"metadata of containers", nobody},
		"100.100.100.200":                 {"metadata in CGNAT space", nobody},
		"168.63.129.16":                   {"metadata in public space", nobody},
		"192.0.0.192":                     {"metadata of Oracle", nobody},
		"fd00:ec2::254":                   {"metadata among unique local addresses", nobody},
		"fd00:ec2::23":                    {"credentials of pods", nobody},
		"fd20:ce::254":                    {"metadata of Google", nobody},
		"::ffff:169.254.169.254":          {"mapped metadata", nobody},
		"64:ff9b::a9fe:a9fe":              {"NAT64 of metadata", nobody},
		"64:ff9b::7f00:1":                 {"NAT64 of loopback; not the form that was allowed", nobody},
		"64:ff9b:1::a9fe:a9fe":            {"local NAT64 of metadata", nobody},
		"2002:a9fe:a9fe::1":               {"6to4 of metadata", nobody},
		"2002:7f00:1::1":                  {"6to4 of loopback", nobody},
		"2001:0:a9fe:a9fe::1":             {"Teredo by a server at metadata", nobody},
		"2001:0:808:808::5601:5601":       {"Teredo client 169.254.169.254, inverted", nobody},
		"::127.0.0.1":                     {"IPv4-compatible loopback", nobody},
		"::169.254.169.254":               {"IPv4-compatible metadata", nobody},
		"2600::5efe:a9fe:a9fe":            {"ISATAP of metadata", nobody},
		"2600::200:5efe:a9fe:a9fe":        {"ISATAP of metadata, the other form", nobody},
		"0:0:0:0:ffff:0:a9fe:a9fe":        {"IPv4-translated, never handed out", platform},
		"64:ff9b:0:0:0:1:a9fe:a9fe":       {"beside NAT64's prefix, never handed out", platform},
		"2001:0000:a00:1::ffff:ffff:ffff": {"Teredo client 0.0.0.0", nobody},
	}
	policies := map[string]dial.Policy{"org": dial.PublicOnly(), "platform": dial.Platform(), "local": dial.Platform(loopback)}
	for text, tc := range tests {
		t.Run(text, func(t *testing.T) {
			addr := netip.MustParseAddr(text)
			for who, policy := range policies {
				want := strings.Contains(tc.may, who)
				if err := policy.Check(addr); (err == nil) != want {
					t.Errorf("%s: Check gave %v, may dial should be %v: %s", who, err, want, tc.reason)
				}
				address := netip.AddrPortFrom(addr, 6443).String()
				if err := policy.Control(t.Context(), "tcp", address, nil); (err == nil) != want {
					t.Errorf("%s: the control hook gave %v, may dial should be %v: %s", who, err, want, tc.reason)
				}
			}
		})
	}
}

func TestAllowOpensNoMetadata(t *testing.T) {
	everything := dial.Platform(netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))
	for _, text := range []string{"169.254.169.254", "100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254"} {
		if everything.Check(netip.MustParseAddr(text)) == nil {
			t.Errorf("%s is let through by an allow-list", text)
		}
	}
	if err := everything.Check(netip.MustParseAddr("::1")); err != nil {
		t.Errorf("what is allowed is refused: %v", err)
	}
	org := dial.Policy{Allow: []netip.Prefix{loopback}}
	if org.Check(netip.MustParseAddr("127.0.0.1")) == nil {
		t.Error("an organisation's policy heeds the allow-list of the platform")
	}
}

func TestControlRefusesWhatIsNoTCPAddress(t *testing.T) {
	for name, tc := range map[string]struct{ network, address string }{
		"udp":  {"udp", "8.8.8.8:53"},
		"unix": {"unix", "/run/x.sock"},
		"name": {"tcp", "edge.example.net:6443"},
	} {
		for who, policy := range map[string]dial.Policy{"org": dial.PublicOnly(), "platform": dial.Platform()} {
			if policy.Control(t.Context(), tc.network, tc.address, nil) == nil {
				t.Errorf("%s: %s of %s passed", who, name, tc.address)
			}
		}
	}
}
