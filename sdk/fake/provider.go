// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// The kinds of thing in the cloud.
const (
	KindCluster      = "cluster"
	KindDisk         = "disk"
	KindLoadBalancer = "load-balancer"
	KindNetwork      = "network"
	KindNode         = "node"
	KindSnapshot     = "snapshot"
)

// TemplateName is the one template.
const TemplateName = "fake/cluster"

// Provider is the plugin. It keeps nothing between calls: all that it knows is in the cloud or comes with the call.
type Provider struct {
	cloud *Cloud
	gate  *gate
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Accounts = (*Provider)(nil)
)

// New makes a provider over a cloud. Several may share one.
func New(cloud *Cloud) *Provider { return &Provider{cloud: cloud, gate: newGate()} }

// Facts are what the provider says about itself.
func Facts() provider.Facts {
	return provider.Facts{
		Name:    "fake",
		Version: "v0.1.0",
		Templates: []provider.Template{{
			Name:  TemplateName,
			Title: "Fake · cluster",
			Variables: json.RawMessage(`{"type":"object","properties":{` +
				`"machine":{"type":"string","enum":["small","large"],"default":"small"},` +
				`"nodes":{"type":"integer","minimum":1,"maximum":100,"default":2}}}`),
			Prices: []provider.Price{{
				Item: "node", Region: "fake-1", Hourly: 20_000, Count: 2,
				AsOf: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Source: "https://prices.fake.example/nodes",
			}},
		}},
		Names:        []provider.NameRule{{What: "network", MaxLength: 40, Why: "a network's name has at most 63 characters"}},
		NodePrefixes: []string{"fake://"},
		Kinds: []provider.Kind{
			{Name: KindCluster, Title: "Cluster"},
			{Name: KindDisk, Title: "Disk"},
			{Name: KindLoadBalancer, Title: "Load balancer"},
			{Name: KindNetwork, Title: "Network"},
			{Name: KindNode, Title: "Node"},
			{Name: KindSnapshot, Title: "Snapshot"},
		},
		Credentials: []string{TokenName},
	}
}

// resource is a thing as the host knows things.
func (t Thing) resource(proof provider.Proof, why string) provider.Resource {
	return provider.Resource{
		Kind: t.Kind, ID: t.ID, Name: t.Name, Location: t.Zone, Account: t.Account, Proof: proof, Why: why, Role: t.Role,
		Hourly: t.Hourly, ConsoleURL: "https://console.fake.example/" + t.ID,
	}
}

// Resource is the thing as it would have been written down while its cluster lived.
func (t Thing) Resource() provider.Resource {
	return t.resource(provider.ProofRecorded, "written down while the cluster lived")
}

// stem is what the names of a cluster's things begin with.
func stem(c provider.Cluster) string {
	short := strings.ReplaceAll(c.Incarnation, "-", "")
	return c.Name + "-u" + short[:min(8, len(short))]
}

// labels are on everything that is made for a cluster.
func labels(c provider.Cluster) map[string]string {
	return map[string]string{LabelCluster: c.Name, LabelIncarnation: c.Incarnation}
}

// checkCluster refuses a request that doesn't say whose things it is about.
func checkCluster(c provider.Cluster) error {
	if c.Name == "" {
		return provider.Invalidf("cluster.name", "is missing")
	}
	if c.Incarnation == "" {
		return provider.Invalidf("cluster.incarnation", "is missing: nothing can be attributed without it")
	}
	return nil
}

// pages collects all pages of one list. An error on any page is an error of the whole: half a list proves nothing. What was
// seen before it is returned too.
func (p *Provider) pages(ctx context.Context, s session, kind, zone string) ([]Thing, error) {
	var all []Thing
	page := ""
	for {
		things, next, err := p.cloud.list(ctx, s, kind, zone, page)
		all = append(all, things...)
		if err != nil || next == "" {
			return all, err
		}
		page = next
	}
}

// fatal says whether an error is about the whole call rather than about one thing or place.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, provider.Unauthenticated)
}

// sortFindings sorts by kind, then by ID.
func sortFindings(lists ...[]provider.Finding) {
	for _, list := range lists {
		slices.SortFunc(list, func(a, b provider.Finding) int { return compareResources(a.Resource, b.Resource) })
	}
}

func compareResources(a, b provider.Resource) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

func where(zone string) string {
	if zone == "" {
		return "in no zone"
	}
	return fmt.Sprintf("in zone %s", zone)
}
