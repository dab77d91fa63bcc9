// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import "net/netip"

// reach says who may get at an address.
type reach int

const (
	public    reach = iota // everybody
	private                // who is in that network; fine for the platform
	forbidden              // nobody: this machine, its link, or nothing at all
)

// Kinds of address as messages name them.
const (
	metadata    = "a cloud's metadata service"
	loopback    = "a loopback address, which is this machine itself"
	unspecified = "an unspecified address, which is this machine itself"
	linkLocal   = "a link-local address, which only this machine's link knows"
	multicast   = "a multicast or broadcast address"
	privateNet  = "a private address"
	reserved    = "a reserved address"
	wrapped     = "an IPv4 address wrapped in IPv6"
)

type row struct {
	prefix netip.Prefix
	kind   string
	reach  reach
}

// table is what netip.Addr's own methods know and what they miss, first match wins. The sources are IANA's registries of
// special-purpose addresses for IPv4 and IPv6, and the clouds' documentation for their metadata services.
func table() []row {
	p := netip.MustParsePrefix
	return []row{
		{p("169.254.169.254/32"), metadata, forbidden}, // AWS, Google Cloud, Azure, Linode and most others
		{p("169.254.170.0/24"), metadata, forbidden},   // AWS: credentials of containers and pods
		{p("100.100.100.200/32"), metadata, forbidden}, // Alibaba Cloud
		{p("168.63.129.16/32"), metadata, forbidden},   // Azure, in the middle of public space
		{p("192.0.0.192/32"), metadata, forbidden},     // Oracle Cloud
		{p("fd00:ec2::/32"), metadata, forbidden},      // AWS, among unique local addresses
		{p("fd20:ce::254/128"), metadata, forbidden},   // Google Cloud
		{p("fd00:42::42/128"), metadata, forbidden},    // Scaleway

		{p("0.0.0.0/8"), unspecified, forbidden},
		{p("127.0.0.0/8"), loopback, forbidden},
		{p("169.254.0.0/16"), linkLocal, forbidden},
		{p("224.0.0.0/4"), multicast, forbidden},
		{p("255.255.255.255/32"), multicast, forbidden},
		{p("10.0.0.0/8"), privateNet, private},
		{p("172.16.0.0/12"), privateNet, private},
		{p("192.168.0.0/16"), privateNet, private},
		{p("100.64.0.0/10"), privateNet, private}, // carrier-grade NAT; Go calls it neither private nor anything else
		{p("192.0.0.0/24"), reserved, private},
		{p("192.0.2.0/24"), reserved, private},    // documentation
		{p("198.51.100.0/24"), reserved, private}, // documentation
		{p("203.0.113.0/24"), reserved, private},  // documentation
		{p("192.88.99.0/24"), reserved, private},  // relays of 6to4
		{p("198.18.0.0/15"), reserved, private},   // benchmarks; also used as private space
		{p("240.0.0.0/4"), reserved, private},     // class E; Google Cloud lets networks use it
		{p("0.0.0.0/0"), "", public},

		{p("::/128"), unspecified, forbidden},
		{p("::1/128"), loopback, forbidden},
		{p("fe80::/10"), linkLocal, forbidden},
		{p("ff00::/8"), multicast, forbidden},
		{p("fc00::/7"), privateNet, private},
		{p("fec0::/10"), privateNet, private}, // site-local, the old unique local
		{p("2001:db8::/32"), reserved, private},
		{p("3fff::/20"), reserved, private},
		{p("2001::/23"), reserved, private}, // protocols' own, such as ORCHID
		{p("2000::/3"), "", public},
		{p("::/0"), reserved, private}, // all that was never handed out
	}
}

// classify says what an address is and who may reach it. Unmap it first.
func classify(addr netip.Addr) (string, reach) {
	if inner, translated, ok := unwrap(addr); ok {
		kind, r := classify(inner)
		switch {
		case r == forbidden:
			return kind, forbidden
		case translated && r == public:
			// How an IPv6-only network reaches IPv4: its DNS makes these out of public addresses.
			return "", public
		default:
			return wrapped, private
		}
	}
	for _, row := range special {
		if row.prefix.Contains(addr) {
			return row.kind, row.reach
		}
	}
	return reserved, forbidden
}

// special is table, made once; nothing writes to it.
var special = table()
