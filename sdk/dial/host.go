// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// CheckHost resolves a host, a name or an IP address, and says whether it may be dialled, without dialling it: for
// addresses that another program dials, such as Argo CD. Under a policy of public addresses every address of the name
// must pass, since the other program may take any of them; otherwise one is enough. The error is a [*RefusedError], or a
// *net.DNSError where the name could not be looked up.
func (p Policy) CheckHost(ctx context.Context, host string) error {
	addrs, err := p.lookup(ctx, host)
	if err != nil {
		return err
	}
	refused := func(addr netip.Addr) bool { return p.judge(addr) != "" }
	if !p.Private && slices.ContainsFunc(addrs, refused) {
		return p.refusal(host, "")
	}
	_, err = p.pass(host, addrs)
	return err
}

// lookup returns the addresses of a host that is not refused by its name already.
func (p Policy) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	name, err := p.checkName(host)
	if err != nil {
		return nil, err
	}
	if !p.Private {
		// A dot at the end keeps the search list of the pod's resolv.conf out of it.
		name += "."
	}
	resolver := p.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", name)
	var dnsError *net.DNSError
	if !p.Private && errors.As(err, &dnsError) && dnsError.IsNotFound {
		return nil, p.refusal(host, "")
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}

var (
	hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)
	numeric  = regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`)
)

// checkName makes a host into the name that DNS is asked for, and refuses names that can't be a cluster's.
func (p Policy) checkName(host string) (string, error) {
	name := host
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		// Full-width digits and dots become plain ones here, so that what follows sees them.
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", p.refusal(host, "it is not a host name or an IP address")
		}
		name = ascii
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if len(name) > 253 || !hostName.MatchString(name) || strings.Contains(name, "..") {
		return "", p.refusal(host, "it is not a host name or an IP address")
	}
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	// Some resolvers read 2130706433, 0x7f000001 or 127.1 as 127.0.0.1. No top-level domain is a number.
	if numeric.MatchString(last) {
		return "", p.refusal(host, "it is not a host name, and not an IP address in its usual form")
	}
	if name == "metadata.google.internal" || name == "metadata.goog" {
		return "", p.refusal(host, addressIs(metadata))
	}
	if !p.Private && (len(labels) == 1 || isInside(last)) {
		return "", p.refusal(host, "")
	}
	return name, nil
}

// isInside says whether names under a top-level domain are only known inside a network.
func isInside(topLevel string) bool {
	switch topLevel {
	case "svc", "local", "internal", "localhost", "localdomain":
		return true
	}
	return false
}
