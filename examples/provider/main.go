// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command provider is a whole provider plugin, small enough to be read in one go. Its cloud is a folder on disk: each thing
// in it is a file. The shape is that of every plugin: main.go says what it is, and each verb has a file of its own.
package main

import (
	"encoding/json"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

func main() { plugin.Serve(folder{}, facts()) }

// folder is the provider. It holds nothing: all that a verb needs comes with the call.
type folder struct{}

var (
	_ provider.Provider = folder{}
	_ provider.Accounts = folder{}
)

const templateName = "folder/cluster"

// facts are what the plugin says about itself.
func facts() provider.Facts {
	return provider.Facts{
		Name:    "folder",
		Version: "v0.1.0",
		Templates: []provider.Template{{
			Name:  templateName,
			Title: "Folder · cluster",
			Variables: json.RawMessage(`{"type":"object","properties":{` +
				`"nodes":{"type":"integer","minimum":1,"maximum":9,"default":2},` +
				`"size":{"type":"string","enum":["small","large"],"default":"small"}}}`),
		}},
		Names: []provider.NameRule{{What: "file", MaxLength: 42, Why: "a file's name begins with it"}},
		Kinds: []provider.Kind{
			{Name: kindCluster, Title: "Cluster"},
			{Name: kindDisk, Title: "Disk"},
			{Name: kindNode, Title: "Node"},
			{Name: kindSnapshot, Title: "Snapshot"},
		},
		Credentials: []string{keyName, pathName},
	}
}
