// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import "net/netip"

// unwrap finds the IPv4 address inside an IPv6 address that some router on the way may unpack. translated is true for
// NAT64 under its well-known prefix, the only one of these forms that is in honest use. Mapped addresses (::ffff:0:0/96)
// are not here: netip's Unmap makes them plain, as Go's dialer does.
func unwrap(addr netip.Addr) (inner netip.Addr, translated, ok bool) {
	if !addr.Is6() {
		return inner, false, false
	}
	b := addr.As16()
	v4 := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case has(b, 0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0): // 64:ff9b::/96, RFC 6052
		return v4(12), true, true
	case has(b, 0x00, 0x64, 0xff, 0x9b, 0, 1): // 64:ff9b:1::/48, RFC 8215, taken with the usual /96 below it
		return v4(12), false, true
	case has(b, 0x20, 0x02): // 2002::/16, 6to4, RFC 3056
		return v4(2), false, true
	case has(b, 0x20, 0x01, 0, 0): // 2001::/32, Teredo, RFC 4380: the client is stored inverted
		return teredo(b), false, true
	case has(b[8:], 0x00, 0x00, 0x5e, 0xfe), has(b[8:], 0x02, 0x00, 0x5e, 0xfe): // ISATAP, RFC 5214
		return v4(12), false, true
	case has(b, make([]byte, 12)...) && !addr.IsUnspecified() && !addr.IsLoopback(): // ::/96, IPv4-compatible, RFC 4291
		return v4(12), false, true
	}
	return inner, false, false
}

// teredo returns the worse of the two addresses in a Teredo address, the server's and the client's.
func teredo(b [16]byte) netip.Addr {
	server := netip.AddrFrom4([4]byte(b[4:8]))
	if _, r := classify(server); r == forbidden {
		return server
	}
	return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
}

func has[B [16]byte | []byte](b B, prefix ...byte) bool {
	for i, want := range prefix {
		if b[i] != want {
			return false
		}
	}
	return true
}
