// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dial decides which network addresses may be reached, and reaches them.
//
// Kubeconfigs, forges, issuers and module sources name hosts that strangers chose. A [Policy] says what such a host may
// be: for an organisation's cluster public addresses only, for the platform's also private networks, and for nobody this
// machine itself, its link or a cloud's metadata service, in whatever form such an address is written or wrapped.
//
// The check stands in the control hook of every single connection, between the name's resolution and the connect, so a
// name that resolves to another address each time it is asked (rebinding) gains nothing. [Policy.CheckHost] asks the same
// without connecting, for addresses that another program dials.
package dial

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Policy says which addresses may be dialled. The zero value lets public ones through and nothing else; it is what
// belongs to a cluster of an organisation.
type Policy struct {
	// Private lets private networks through as well: RFC 1918, carrier-grade NAT, unique local and the like. For clusters
	// of the platform.
	Private bool
	// Allow lets through what Private alone does not, such as 127.0.0.0/8 for a stack on one machine. Without Private it
	// is ignored, and it never opens a metadata service.
	Allow []netip.Prefix
	// Resolver looks names up; nil is Go's default.
	Resolver *net.Resolver
	// DialAddr connects to an address that passed; nil is a net.Dialer that has the same check in its control hook.
	// Tests set it to connect elsewhere, or not at all.
	DialAddr func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error)
}

// PublicOnly is the policy for what an organisation names: public addresses and nothing else.
func PublicOnly() Policy { return Policy{} }

// Platform is the policy for what a platform admin names: private networks too, and what allow holds.
func Platform(allow ...netip.Prefix) Policy { return Policy{Private: true, Allow: allow} }

// attemptTimeout bounds the connection to one address, so that a dead one leaves time for the next.
const attemptTimeout = 5 * time.Second

// Check says whether addr may be dialled: nil, or a [*RefusedError].
func (p Policy) Check(addr netip.Addr) error {
	if kind := p.judge(addr); kind != "" {
		return p.refusal(addr.WithZone("").String(), addressIs(kind))
	}
	return nil
}

// judge is Check in a word: what kind of address makes it refused, or "".
func (p Policy) judge(addr netip.Addr) string {
	if addr.Zone() != "" {
		return linkLocal
	}
	addr = addr.Unmap()
	kind, reach := classify(addr)
	switch {
	case reach == public:
		return ""
	case !p.Private || kind == metadata:
		return kind
	case reach == private || slices.ContainsFunc(p.Allow, func(allowed netip.Prefix) bool { return allowed.Contains(addr) }):
		return ""
	default:
		return kind
	}
}

// Control is the check as a control hook of net.Dialer. address is an IP address and a port, as Go hands it over right
// before the connect.
func (p Policy) Control(_ context.Context, network, address string, _ syscall.RawConn) error {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return p.refusal(address, "only TCP is dialled")
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return p.refusal(address, "it must be an IP address and a port")
	}
	return p.Check(to.Addr())
}

// DialContext connects to a host and port by TCP. Of several addresses it tries those that may be dialled, one after the
// other; where there is none it returns a [*RefusedError] and connects to nothing.
func (p Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, p.refusal(address, "it must be a host and a port")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, p.refusal(address, "it must be a host and a port")
	}
	addrs, err := p.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	passed, err := p.pass(host, addrs)
	if err != nil {
		return nil, err
	}
	return p.dialFirst(ctx, network, passed, uint16(port))
}

// pass leaves the addresses that may be dialled, at most maxAddrs of them; none is an error.
func (p Policy) pass(host string, addrs []netip.Addr) ([]netip.Addr, error) {
	const maxAddrs = 8
	var passed []netip.Addr
	var kinds []string
	for _, addr := range addrs {
		if kind := p.judge(addr); kind != "" {
			kinds = append(kinds, kind)
		} else if len(passed) < maxAddrs {
			passed = append(passed, addr)
		}
	}
	if len(passed) == 0 {
		return nil, p.refusal(host, addressIs(kinds...))
	}
	return passed, nil
}

// dialFirst tries one address after the other and returns the first connection, or the first error.
func (p Policy) dialFirst(ctx context.Context, network string, addrs []netip.Addr, port uint16) (net.Conn, error) {
	var first error
	for i, addr := range addrs {
		conn, err := p.dialOne(ctx, network, netip.AddrPortFrom(addr, port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// dialOne connects to one address within its share of the time, where left addresses are still to be tried.
func (p Policy) dialOne(ctx context.Context, network string, addr netip.AddrPort, left int) (net.Conn, error) {
	share := attemptTimeout
	if deadline, ok := ctx.Deadline(); ok {
		share = min(share, time.Until(deadline)/time.Duration(left))
	}
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	if p.DialAddr != nil {
		if err := p.Control(ctx, network, addr.String(), nil); err != nil {
			return nil, err
		}
		return p.DialAddr(ctx, network, addr)
	}
	dialer := net.Dialer{ControlContext: p.Control, KeepAlive: 30 * time.Second}
	return dialer.DialContext(ctx, network, addr.String())
}

// addressIs is why a host is refused whose addresses are of these kinds.
func addressIs(kinds ...string) string {
	if len(kinds) == 0 {
		return "it has no address"
	}
	slices.Sort(kinds)
	return "its address is " + join(slices.Compact(kinds))
}

// refusal makes the error for a host. Under a policy of public addresses why is not told: one sentence for every kind of
// address, and for a name that does not exist, so whoever registers a cluster of an organisation learns nothing about the
// network this runs in.
func (p Policy) refusal(host, why string) *RefusedError {
	if !p.Private {
		why = "it is not, or does not resolve to, a public address; such a cluster must have one"
	}
	return &RefusedError{Host: host, Message: why}
}
