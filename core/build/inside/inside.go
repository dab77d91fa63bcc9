// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inside is infrared-build, the program of a Job's pod that carries one OpenTofu run out.
//
// [Install] is the init container: it puts this program and the provider's plugin where the main container, whose image is OpenTofu's,
// finds them. [Run] is the main container's process 1. It reads the run's Order from its record, starts the plugin, calls Build, and
// writes down what comes of it: progress while it goes, each thing that was made at once, and last the Outcome. Package run has the
// types and the names of the objects.
//
// OpenTofu never speaks to the API server. Its Kubernetes backend speaks to a proxy on loopback (proxy.go), which lets through the state
// and its Lease, and nothing else; which puts a state that is too large for one Secret into several (state.go); which says on the Lease
// whose it is; and which holds its breath while the API server is away (patience.go).
//
// The order of the end is what makes a run safe to watch from outside. The plugin is asked to stop first, so that Build winds down and its
// stream tells how. An OpenTofu whose plugin was killed is waited for next, as it still writes its state through the proxy. Then
// come plan, ledger and, last of all, the Outcome: who sees it knows that nothing of this run is at work any more.
package inside

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

// Pod is which pod this is, as its environment says.
type Pod struct {
	Job, JobUID, Name, UID, Node string
}

// Run is one run. All but Clock and Grace has to be set.
type Run struct {
	// Config is the API server's, as the pod's ServiceAccount.
	Config *rest.Config
	// Namespace has all objects of the run, Record is the ConfigMap's name, Names those of the others.
	Namespace, Record string
	Names             run.Names
	Pod               Pod
	// Plugins is the folder with the plugin, Work the one that Build works in, Credentials the one with the cloud's credentials.
	Plugins, Work, Credentials string
	// Env is the plugin's environment, NAME=value.
	Env []string
	// Out takes what people read: OpenTofu's output, and a few lines of our own.
	Out io.Writer
	// Clock tells the time; nil: the machine's.
	Clock clock.WithTicker
	// Grace is how long the run may go on once it was told to stop; 0: [DefaultGrace].
	Grace time.Duration
}

// DefaultGrace leaves a pod, which has 15 minutes to end, half a minute to write down how it ended.
const DefaultGrace = 14*time.Minute + 30*time.Second

// The programs' places in a pod.
const (
	// Program is this program's file name.
	Program = "infrared-build"
	// ImagePlugins is where the build image has the plugins.
	ImagePlugins = "/usr/local/lib/infrared/plugins"
)

// PluginFolder is where Install puts the plugin.
func PluginFolder(programs string) string { return filepath.Join(programs, "plugins") }

// Do carries the run out and says how it ended. The end of ctx asks it to wind down. An error means that it could not be written down how
// it ended, or that there was nothing to do.
func (r Run) Do(ctx context.Context) (run.Outcome, error) {
	if r.Clock == nil {
		r.Clock = clock.RealClock{}
	}
	if r.Grace == 0 {
		r.Grace = DefaultGrace
	}
	adoptOrphans()
	store, err := newObjects(r)
	if err != nil {
		return run.Outcome{}, err
	}
	// What is written is written whether or not the run was told to stop.
	life, cancel := r.lifetime(ctx)
	defer cancel()
	order, done, err := store.order(life)
	if err != nil {
		return run.Outcome{}, fmt.Errorf("reading the order in ConfigMap %s: %w", r.Record, err)
	}
	if done != nil {
		return *done, nil
	}
	s, err := begin(life, r, store, order)
	if err != nil {
		outcome := run.Outcome{EndedAt: r.now(), Failure: &run.Failure{Reason: v1alpha1.ReasonStartRefused, Message: err.Error()}}
		return outcome, store.writeOutcome(life, outcome, nil)
	}
	outcome := s.carryOut(ctx, life)
	return outcome, s.end(context.WithoutCancel(ctx), outcome)
}

func (r Run) now() time.Time { return r.Clock.Now().UTC().Truncate(time.Second) }

// lifetime is the context of everything but the run's own steps: it ends the grace after ctx.
func (r Run) lifetime(ctx context.Context) (context.Context, context.CancelFunc) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-r.Clock.After(r.Grace):
			cancel()
		case <-life.Done():
		}
	})
	return life, func() { stop(); cancel() }
}
