// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"net"
	"time"
)

// NodeClient names the pair by which a node is a client of the API server.
func NodeClient(node string) string { return "node-" + node }

// NodeServing names the pair that a node shows to those who ask it for logs.
func NodeServing(node string) string { return "node-" + node + "-serving" }

// EnsureNode makes the two certificates of a node anew: of its user, which the
// Node authorizer lets see what the node's own pods need, and of its server on
// loopback. Ensure must have made the authority.
func (f Files) EnsureNode(node string, now time.Time) error {
	by, err := f.loadAuthority(CA)
	if err != nil {
		return err
	}
	user, groups := "system:node:"+node, []string{"system:nodes"}
	for _, l := range []leaf{
		{name: NodeClient(node), user: user, groups: groups, purposes: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		{
			name: NodeServing(node), user: user, groups: groups, purposes: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			hosts: []string{"localhost", node}, ips: []net.IP{net.IPv4(127, 0, 0, 1)},
		},
	} {
		if err := f.makeLeaf(l, by, now); err != nil {
			return err
		}
	}
	return nil
}
