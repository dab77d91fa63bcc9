// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"io"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// Spec is which binary a plugin is.
type Spec struct {
	// Binary is a file's name in the plugin folder, without a slash.
	Binary string
	// SHA256 is the file's checksum in hex. A file with another one is never run.
	SHA256 string
}

// Options are what a host works with. Only Folder has to be there.
type Options struct {
	// Folder holds the plugin binaries. Nothing outside of it is ever run, wherever a symbolic link leads.
	Folder string
	// Attach are plugins that somebody else runs, by name, such as an author's debugger. They are called and never started or
	// ended, and nothing of theirs is checked: for development only.
	Attach map[string]plugin.Attachment
	// SocketFolder is where the plugins' sockets go; empty: chosen.
	SocketFolder string
	// Env is the whole environment of a plugin, as KEY=value, beside what the handshake needs.
	Env []string
	// Log gets what happens to plugins, and what they print where there is no Output.
	Log logr.Logger
	// Output gets every line that a plugin prints as it is, one a call, with its end; lines are left out where it is slow. nil: they are
	// logged, no more than a log bears.
	Output io.Writer
	// StopTime is how long a plugin may take to end in order once it has been told to, its running calls included; 0: 30 s. What Close is
	// given ends it sooner.
	StopTime time.Duration
	// Metrics is where the host's metrics are registered; nil: nowhere.
	Metrics prometheus.Registerer
	// Clock tells the time; nil: the machine's.
	Clock clock.WithTicker
	// Changed is called, without any lock held, after a plugin's state has changed. It must not block.
	Changed func(name string)
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	if o.StopTime == 0 {
		o.StopTime = stopTime
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	return o
}

// Reasons of a state, beside those of plugin.StartReason, which say why a plugin did not start.
const (
	// ReasonHealthy: it runs and answers.
	ReasonHealthy = "Healthy"
	// ReasonAttached: somebody else runs it, and it answers.
	ReasonAttached = "Attached"
	// ReasonStarting: it is being started for the first time.
	ReasonStarting = "Starting"
	// ReasonRestarting: it ended, and is being started again at once.
	ReasonRestarting = "Restarting"
	// ReasonCrashed: it ended more than once, and is started again after a pause.
	ReasonCrashed = "Crashed"
	// ReasonHung: it runs and did not answer, so it was killed; or somebody else runs it, and it does not answer.
	ReasonHung = "Hung"
	// ReasonStopped: the host is closing.
	ReasonStopped = "Stopped"
)

// State is how a plugin is.
type State struct {
	// Reason is one of the constants here or a plugin.StartReason, Message the same in words: without times, process IDs and
	// paths that change.
	Reason, Message string
	// Healthy says that it runs and answers.
	Healthy bool
	// PID is the process ID; 0: it does not run.
	PID int
	// Restarts counts its starts after the first, failed ones included, since the spec last changed.
	Restarts int
	// Protocol is the version that the host speaks with it; 0 before it first ran.
	Protocol int
	// Description is what it last told about itself; zero before it first ran.
	Description provider.Description
}

// same says whether two states look alike. What a plugin tells about itself never changes while it runs, so a new process is
// enough to tell.
func (s State) same(other State) bool {
	return s.Reason == other.Reason && s.Message == other.Message && s.Healthy == other.Healthy &&
		s.PID == other.PID && s.Restarts == other.Restarts && s.Protocol == other.Protocol
}

// known says whether a plugin has told about itself.
func known(d provider.Description) bool { return d.Facts.Name != "" }

func has(d provider.Description, c provider.Capability) bool {
	return slices.Contains(d.Capabilities, c)
}
