// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion lets a Cluster go, step by step, and writes down what was done.
//
// Plan is the order; there is one file a step. The order is also a golden file (testdata/plan.golden), so that a change to it
// is seen in review. Confirm guards the start, Record is what stays.
package deletion

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/core/pipeline"
)

// stuckAfter is when a step counts as Stuck.
const stuckAfter = 15 * time.Minute

// The names of the steps, as they stand in status and in the annotation that forces one.
const (
	StepDisconnect = "Disconnect"
	StepDestroy    = "Destroy"
)

// Builder destroys what was built; it is a *build.Builder but for tests.
type Builder interface {
	// Destroy takes away all that was built for the Cluster, as far as it can get now. again has it run once more after it failed.
	Destroy(ctx context.Context, c *v1alpha1.Cluster, again bool) (build.Teardown, error)
}

// Scope is the Cluster that is let go, and what the steps need.
type Scope struct {
	// Cluster as it was read; the steps don't write to it.
	Cluster *v1alpha1.Cluster
	// Client writes to the management cluster.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Claims the Cluster has.
	Claims *claim.Store
	// Builder destroys what was built.
	Builder Builder
	// Again is true where a person has asked to run the destroy once more.
	Again bool

	// Turn is what a look at the runs came to, for the Cluster's status; nil where no step looked.
	Turn *build.Turn
}

// Plan is the steps in order. A Cluster that was only registered is disconnected and never destroyed. Nothing moves past Destroy: what it
// left would go on costing money with nobody to know of it. To force it is to run it again.
func Plan() pipeline.Pipeline[*Scope] {
	return pipeline.Pipeline[*Scope]{
		{Name: StepDisconnect, Timeout: stuckAfter, Run: disconnect, Abandon: abandonDisconnect},
		{Name: StepDestroy, Timeout: stuckAfter, Skip: onlyRegistered, Run: destroy},
	}
}
