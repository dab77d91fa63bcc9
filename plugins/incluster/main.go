// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command incluster is the provider plugin for clusters that live in the management cluster: the management cluster itself under
// another name, and clusters that somebody says are there. It needs no cloud and no account.
//
// Each verb that it has is in a file under the verb's name. Those that it does not have yet are in unsupported.go, and say so.
package main

import (
	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// version is the plugin's own.
const version = "v0.1.0"

// inCluster implements provider.Provider. It keeps nothing: all comes with the call.
type inCluster struct{}

var _ provider.Provider = inCluster{}

func facts() provider.Facts {
	return provider.Facts{Name: "incluster", Version: version}
}

func main() { plugin.Serve(inCluster{}, facts()) }
