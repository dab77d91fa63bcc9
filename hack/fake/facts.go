// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"time"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

const templateName = "fake/cluster"

// The names of the credentials. The endpoint is no secret, the token is one.
const (
	endpointName = "FAKE_ENDPOINT"
	tokenName    = "FAKE_TOKEN"
)

// defaultRegion is the module's.
const defaultRegion = "fake-1"

// facts are what the plugin says about itself.
func facts() provider.Facts {
	read := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	price := func(item string, hourly provider.USD, count int64) provider.Price {
		return provider.Price{Item: item, Region: defaultRegion, Hourly: hourly, Count: count, AsOf: read, Source: "https://prices.fake.example/" + defaultRegion}
	}
	return provider.Facts{
		Name:    "fake",
		Version: "v0.1.0",
		Templates: []provider.Template{{
			Name:      templateName,
			Title:     "Fake · cluster",
			Variables: schema(),
			// By address, since everything is of the type terraform_data here. A real provider names types.
			Guarded: []string{"terraform_data.cluster", "terraform_data.node_group"},
			Prices:  []provider.Price{price("control plane", 100_000, 1), price("node", 20_000, 2)},
		}},
		Names:        []provider.NameRule{{What: "network", MaxLength: 42, Why: "a network's name begins with it, and has at most 100 characters"}},
		NodePrefixes: []string{"fake://"},
		Kinds: []provider.Kind{
			{Name: httpcloud.KindCluster, Title: "Cluster"},
			{Name: httpcloud.KindDisk, Title: "Disk"},
			{Name: httpcloud.KindLoadBalancer, Title: "Load balancer"},
			{Name: httpcloud.KindNetwork, Title: "Network"},
			{Name: httpcloud.KindNodeGroup, Title: "Node group"},
			{Name: httpcloud.KindSnapshot, Title: "Snapshot"},
		},
		Credentials: []string{endpointName, tokenName},
	}
}

// schema are the module's variables; those that are for tests say so.
func schema() json.RawMessage {
	return json.RawMessage(`{
		"type": "object",
		"properties": {
			"name": {"type": "string", "description": "What the cloud's console shows; the cluster's name, if it is not given."},
			"region": {"type": "string", "default": "` + defaultRegion + `", "description": "Where to build. Another region is another cluster."},
			"node_count": {"type": "integer", "minimum": 0, "maximum": 100, "default": 2, "description": "How many nodes."},
			"spot": {"type": "boolean", "default": false, "description": "Nodes that the cloud may take back."},
			"cidrs": {"type": "array", "items": {"type": "string"}, "default": [], "description": "Who may reach the API server."},
			"tags": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}, "description": "More labels for everything."},
			"note": {"type": "string", "default": "", "description": "A text that is kept with the cluster."},
			"control_plane": {"type": "string", "default": "edge", "description": "Which of the cloud's control planes is behind the cluster."},
			"labels": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Infrared's labels are added."},
			"filler": {"type": "integer", "minimum": 0, "maximum": 65536, "default": 0, "description": "For tests: KiB more in the state."},
			"delay": {"type": "string", "default": "", "description": "For tests: how long making a thing takes, such as 5s."},
			"fail": {"type": "string", "default": "", "description": "For tests: why there can be no node group: quota, denied, unavailable or invalid."}
		}
	}`)
}
