// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build has OpenTofu run for a Cluster: it decides when a run is due, makes the Job that does it, follows that Job, and says
// what came of it.
//
// [Builder.Advance] and [Builder.Destroy] look at the world and take what steps can be taken now. Neither waits: what they wait for
// ends in an event that makes the caller call again. All that they go by is on the management cluster, so a run that one operator
// began is followed by another, and a step that was cut short between any two writes is gone on with.
//
// What a run does inside its Job is package core/build/inside; what the two tell each other is package core/build/run.
//
// # The record
//
// A run is its record, a ConfigMap that is made before the Job and outlives it. Its annotation says which run it is and for which
// inputs; the newest record is the run that status.run is about. A record without Job, progress and mention in status is a run that
// never began.
//
// # What belongs to whom
//
// Everything carries the labels of the Cluster and its incarnation. Only the saved plan has an owner reference as well: a Cluster that is
// deleted in the foreground loses its dependents at once, and a run that still goes needs its Job, its rights, state and ledger.
// [Builder.Forget] takes them away in the end.
package build

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

// Builder has OpenTofu run. It keeps nothing between calls, and may be called for many Clusters at once.
type Builder struct {
	// Client writes to the management cluster.
	Client client.Client
	// Live reads past any cache: a run is never begun because an old copy says that none goes.
	Live client.Reader
	// Clock tells when a plan has expired.
	Clock clock.PassiveClock
	// Templates finds the plugin that has a template.
	Templates Templates
	// Accounts are the cloud accounts; nil: there are none.
	Accounts Accounts
	// BuildImage holds infrared-build and the plugins, TofuImage OpenTofu where the Cluster names no image.
	BuildImage, TofuImage string
	// ModulesURL is where the modules are, in OpenTofu's words, with {module} and {version}; empty: the plugins' own are used.
	ModulesURL string
	// OrgSources is from where an org's own cluster may take its module, beside ModulesURL: a module is code that runs with the run's
	// rights.
	OrgSources []tofu.Allowed
}

// Templates finds what a template needs. core/providers implements it.
type Templates interface {
	// Template finds the plugin for a cloud, such as aws, and its template, such as aws/eks-cluster.
	Template(ctx context.Context, cloud, module string) (Found, error)
}

// Found is a plugin, and one template of its.
type Found struct {
	// Provider is the name of the Provider; empty: no plugin is for the cloud.
	Provider string
	// Binary is the file name of the plugin's program, SHA256 the sum that it is pinned to, in hex.
	Binary, SHA256 string
	// Facts are what the plugin says of itself.
	Facts provider.Facts
	// Template is nil where the plugin has none of that name.
	Template *provider.Template
	// Healthy says whether the plugin runs; Why is why it does not.
	Healthy bool
	Why     string
}

// Accounts are the cloud accounts that runs get their credentials from.
type Accounts interface {
	// Ready puts credentials for the Cluster's next run into its credentials Secret. why says why they can't be had yet; empty: they
	// are there.
	Ready(ctx context.Context, c *v1alpha1.Cluster) (why string, err error)
	// Drop withdraws the credentials of a run that has ended.
	Drop(ctx context.Context, c *v1alpha1.Cluster) error
}

// Turn is what one look came to.
type Turn struct {
	// Run, Plan and Built are for the Cluster's status, in place of what stands there.
	Run   *v1alpha1.RunStatus
	Plan  *v1alpha1.PlanStatus
	Built *v1alpha1.BuiltStatus
	// After is when to call again although no watch tells anything; zero: a watch will.
	After time.Duration
	// Applied is the outcome of the newest apply that succeeded, with its outputs; nil: nothing is built.
	Applied *run.Outcome
}

// Teardown is what one look at a destroy came to.
type Teardown struct {
	Turn
	// Done says that all that applies made is destroyed, or that there is Nothing to destroy.
	Done bool
	// Nothing says that no run ever made anything.
	Nothing bool
	// Failed says that a destroy ran and failed: it stays so until a person asks for it again. A destroy that can't begin yet, for want of
	// credentials or because of a lock, is not Failed: Run says what it waits for, and it begins by itself.
	Failed bool
}
