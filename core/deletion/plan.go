// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion lets a Cluster go, step by step, and writes down what was done.
//
// Plan is the order; there is one file a step. The order is also a golden file (testdata/plan.golden), so that a change to it
// is seen in review. Confirm guards the start, Record is what stays.
package deletion

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/core/pipeline"
)

// stuckAfter is when a step counts as Stuck.
const stuckAfter = 15 * time.Minute

// The names of the steps, as they stand in status and in the annotation that forces one.
const (
	StepDisconnect = "Disconnect"
)

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
}

// Plan is the steps in order. A Cluster that was only registered is disconnected and never destroyed.
func Plan() pipeline.Pipeline[*Scope] {
	return pipeline.Pipeline[*Scope]{
		{Name: StepDisconnect, Timeout: stuckAfter, Run: disconnect, Abandon: abandonDisconnect},
	}
}
