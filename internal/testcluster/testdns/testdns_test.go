// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testdns_test

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/testcluster/testdns"
)

func TestAnswers(t *testing.T) {
	s := testdns.Start(t)
	s.Set("two.example.net", testdns.Addrs("192.0.2.1", "2001:db8::1"))
	s.Set("rebind.example.net", testdns.Addrs("192.0.2.1"), testdns.Addrs("10.0.0.5"))
	s.Set("none.example.net", nil)
	s.Fail("broken.example.net")
	lookup := func(name string) ([]string, error) {
		addrs, err := s.Resolver().LookupNetIP(t.Context(), "ip", name)
		var texts []string
		for _, addr := range addrs {
			texts = append(texts, netip.Addr.Unmap(addr).String())
		}
		slices.Sort(texts)
		return texts, err
	}
	for _, tc := range []struct {
		name string
		want []string
	}{
		{"two.example.net", []string{"192.0.2.1", "2001:db8::1"}},
		{"TWO.example.net.", []string{"192.0.2.1", "2001:db8::1"}},
		{"rebind.example.net", []string{"192.0.2.1"}},
		{"rebind.example.net", []string{"10.0.0.5"}},
		{"rebind.example.net", []string{"10.0.0.5"}},
	} {
		got, err := lookup(tc.name)
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, want - got +:\n%s", tc.name, err, diff)
		}
	}
	var failure *net.DNSError
	for name, notFound := range map[string]bool{"none.example.net.": true, "unknown.example.net.": true, "broken.example.net.": false} {
		if _, err := lookup(name); !errors.As(err, &failure) || failure.IsNotFound != notFound {
			t.Errorf("%s: %v, want an error whose IsNotFound is %v", name, err, notFound)
		}
	}
	if !slices.Contains(s.Asked(), "unknown.example.net.") {
		t.Errorf("asked for %v", s.Asked())
	}
}
