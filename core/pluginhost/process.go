// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"

	"darkshift.io/infrared/sdk/provider"
)

// dialer starts a plugin, or attaches to it, and returns once it has answered and told about itself. Its errors are of type
// *plugin.StartError.
type dialer func(ctx context.Context, name string, spec Spec) (process, error)

// process is a plugin that runs: what the host needs of a plugin.Plugin.
type process interface {
	teller
	// Done is closed once the process and all that it started are gone; Err then says how it ended.
	Done() <-chan struct{}
	Err() error
	ender
}

// teller is what a plugin is and can do.
type teller interface {
	Provider() provider.Provider
	Description() provider.Description
	PID() int
	Protocol() int
	Ping(ctx context.Context) error
}

// ender takes a plugin out of the world. Both return when it is gone.
type ender interface {
	Stop(ctx context.Context) error
	Kill()
}

// running is a process and the calls on it. Its supervisor's lock guards it.
type running struct {
	process
	calls int
	// retired says that no new calls come; idle is closed when then the last one has ended.
	retired bool
	idle    chan struct{}
}

func (r *running) isGone() bool {
	select {
	case <-r.Done():
		return true
	default:
		return false
	}
}
