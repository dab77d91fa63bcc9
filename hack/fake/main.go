// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fake is a whole provider plugin that builds with OpenTofu, and the cloud that it builds in. Copy it to begin a provider of
// your own: main.go says what the provider is, each verb has a file of its own, and the module is in sdk/fake/module.
//
//	fake                 is the plugin; Infrared starts it
//	fake cloud           is the cloud: see cloud.go
//	fake put, fake delete  are what the module's provisioners call: see tool.go. A real module uses its cloud's OpenTofu provider.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

func main() {
	tofu.Shim() // first of all: this program is also what OpenTofu is started through
	if len(os.Args) > 1 {
		commands(os.Args[1], os.Args[2:])
	}
	plugin.Serve(fake{}, facts())
}

// commands runs what is no plugin, and then never returns.
func commands(name string, args []string) {
	run := map[string]func(context.Context, []string) error{"cloud": serveCloud, "put": put, "delete": remove}[name]
	if run == nil {
		return // the SDK's own, such as describe
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, args)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "fake %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fake is the provider. It holds nothing of a call: all that a verb needs comes with the call.
type fake struct {
	// For tests: the path of OpenTofu, which else is in PATH; a file for the state, which else is where the host says; and more of
	// OpenTofu's environment.
	tofu, localState string
	env              map[string]string
}

var _ provider.Provider = fake{}
