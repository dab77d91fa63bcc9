// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Behaviour is how a server answers. Everything below Faults is off in its zero value.
type Behaviour struct {
	// Version is the gitVersion of /version.
	Version string
	// UID is the UID of the namespace kube-system.
	UID string
	// Nodes are its nodes, in the order in which they are listed.
	Nodes []Node
	// Token is the bearer token it takes. Empty: any token, or none. A client certificate of its CA is always taken.
	Token string

	// Faults.

	// Forbidden are path suffixes that answer 403, such as /api/v1/nodes.
	Forbidden []string
	// NoCount leaves remainingItemCount out of lists.
	NoCount bool
	// IgnoreLimit lists all nodes in one page.
	IgnoreLimit bool
	// NoTable answers 406 where a list is asked for as a table.
	NoTable bool
	// Table is sent where a list is asked for as a table.
	Table string
	// Only limits the faults below to path suffixes; nil is all paths.
	Only []string
	// Status is answered instead of the right answer.
	Status int
	// Body is sent instead of the right answer, for instance garbage; with Status 0 it comes with 200.
	Body string
	// Header is set on every answer.
	Header map[string]string
	// Redirect is a Location to answer 302 with.
	Redirect string
	// Delay is waited before the answer.
	Delay time.Duration
	// Hang never answers.
	Hang bool
	// Huge sends an endless answer as fast as it goes: an object whose first field never ends.
	Huge bool
	// HugeList sends a list of nodes without an end.
	HugeList bool
	// GzipBomb sends Huge compressed, where the client takes gzip.
	GzipBomb bool
	// Drip sends one byte of an answer and then one more each Drip.
	Drip time.Duration
	// Cut breaks the connection off in the middle of the answer.
	Cut bool
	// ExpiredCertificate shows a certificate that ended a year ago; for new connections.
	ExpiredCertificate bool
}

// Node is one node of a server.
type Node struct {
	Name       string
	ProviderID string
	Labels     map[string]string
	NotReady   bool
}

// Good is a cluster of version v1.31.4 with a UID of its own and one node of no provider.
func Good() Behaviour {
	return Behaviour{Version: "v1.31.4", UID: newUID(), Nodes: Nodes(1)}
}

// Nodes makes n nodes of no provider.
func Nodes(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i].Name = "node-" + strconv.Itoa(i)
	}
	return nodes
}

// newUID makes a random UID in Kubernetes' form.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

func (b Behaviour) clone() Behaviour {
	b.Nodes, b.Forbidden, b.Only = slices.Clone(b.Nodes), slices.Clone(b.Forbidden), slices.Clone(b.Only)
	b.Header = maps.Clone(b.Header)
	return b
}
