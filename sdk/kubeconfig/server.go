// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// CheckServer judges the address of an API server and returns it without slashes at its end, otherwise as it was written.
// It takes https, a host, perhaps a port and a path; no user, query or fragment. Whether the address may be dialled is
// asked elsewhere. field names where the address stands, for the [*Error].
func CheckServer(field, server string) (string, error) {
	bad := func(why string) (string, error) {
		return "", refuse(field, ReasonServer, "%s", why)
	}
	if server == "" {
		return bad("is not set; give the API server's address, as in https://edge.example.net:6443")
	}
	if strings.ContainsFunc(server, func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return bad("holds a character that no address has; write it as in https://edge.example.net:6443")
	}
	scheme, rest, found := strings.Cut(server, "://")
	if !found || !strings.EqualFold(scheme, "https") {
		return bad("must begin with https://")
	}
	if strings.ContainsAny(rest, "?#") {
		return bad("must not hold a query or a fragment (? or #); leave the host, the port and the path")
	}
	authority, _, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return bad("must not hold a user or a password; remove them from the address")
	}
	if why := checkAuthority(authority); why != "" {
		return bad(why)
	}
	u, err := url.Parse("https://" + rest)
	if err != nil {
		return bad("is not an address; write it as in https://edge.example.net:6443")
	}
	trimmed := strings.TrimRight(u.Path, "/")
	if trimmed != "" && path.Clean(trimmed) != trimmed {
		return bad("must not hold . or .. or // in its path")
	}
	return "https://" + strings.TrimRight(rest, "/"), nil
}

var (
	asciiHost = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?$`)
	portRange = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// checkAuthority says what is wrong with host and port; "" is nothing.
func checkAuthority(authority string) string {
	host, port, hasPort := strings.Cut(authority, ":")
	if strings.HasPrefix(authority, "[") {
		var after string
		var closed bool
		host, after, closed = strings.Cut(authority[1:], "]")
		if addr, err := netip.ParseAddr(host); !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
			return "the host in square brackets must be an IPv6 address, as in https://[2001:db8::1]:6443"
		}
		port, hasPort = strings.CutPrefix(after, ":")
		if after != "" && !hasPort {
			return "after the square brackets only a port may follow, as in https://[2001:db8::1]:6443"
		}
	} else if strings.Contains(port, ":") {
		return "an IPv6 address as the host needs square brackets, as in https://[2001:db8::1]:6443"
	} else if _, ok := asciiName(host); !ok {
		return "the host is not a host name or an address; write it as in https://edge.example.net:6443"
	}
	if number, err := strconv.Atoi(port); hasPort && (!portRange.MatchString(port) || err != nil || number < 1 || number > 65535) {
		return "the port of the host must be a number from 1 to 65535"
	}
	return ""
}

// asciiName is a host name as DNS is asked for it: lower case, international letters in their ASCII form, no dot at the end.
func asciiName(host string) (string, bool) {
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", false
		}
		host = ascii
	}
	if len(host) > 254 || !asciiHost.MatchString(host) || strings.Contains(host, "..") {
		return "", false
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), true
}

// ServerKey is the identity of an API server's address: two addresses with one key are one server. The host is in lower
// case and ASCII without a dot at its end, an IP address in its shortest form, the port always there, the path without a
// slash at its end. What is no address is its own key.
func ServerKey(server string) string {
	checked, err := CheckServer("", strings.TrimSpace(server))
	if err != nil {
		return server
	}
	u, err := url.Parse(checked)
	if err != nil {
		return server
	}
	host := u.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.Unmap().String()
		if addr.Unmap().Is6() {
			host = "[" + host + "]"
		}
	} else if name, ok := asciiName(host); ok {
		host = name
	}
	port := 443
	if number, err := strconv.Atoi(u.Port()); err == nil {
		port = number
	}
	// The path by its decoded form, so that %41 and A are one.
	return host + ":" + strconv.Itoa(port) + (&url.URL{Path: strings.TrimRight(u.Path, "/")}).EscapedPath()
}
