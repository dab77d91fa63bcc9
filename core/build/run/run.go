// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is what infrared-operator and infrared-build, which runs inside the Job's pod, tell each other: the Order, the
// Progress and the Outcome of one OpenTofu run, and the Ledger of all runs of a cluster, with the names under which each is kept.
//
// The two never talk. The operator writes an Order into a ConfigMap, the run's record, and makes the Job; infrared-build reads the
// Order, and writes Progress and Outcome into the same record. So either may die and come back at any moment.
package run

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// Order is what a run is to do. It holds no secret.
type Order struct {
	Cluster provider.Cluster `json:"cluster"`
	Action  provider.Action  `json:"action"`
	// Version and Source as in provider.BuildRequest.
	Version string `json:"version,omitempty"`
	Source  string `json:"source,omitempty"`
	// Variables are checked against the template's schema.
	Variables map[string]json.RawMessage `json:"variables,omitempty"`
	Labels    map[string]string          `json:"labels"`
	// Plugin is which program to run: a file's name, and its SHA-256 in hex.
	Plugin       string `json:"plugin"`
	PluginSHA256 string `json:"pluginSHA256"`
	// Template is the template's name, as the plugin's facts have it.
	Template string `json:"template"`
	// Digest is that of the plan that a person has seen: the run applies just that, or ends as PlanChanged with a new plan. Empty:
	// nobody has seen one, and an apply does whatever is needed.
	Digest string `json:"digest,omitempty"`
	// Approved is the digest of a plan that may destroy or replace what Guarded names.
	Approved string `json:"approved,omitempty"`
	// Guarded are the types of resource, such as aws_eks_node_group, or addresses, that an apply destroys or replaces only with an approval; empty:
	// all types.
	Guarded []string `json:"guarded,omitempty"`
	// DigestExpires is until when Digest may be applied; zero: there is none.
	DigestExpires time.Time `json:"digestExpires,omitzero"`
	// Image is the one that the run's OpenTofu is in.
	Image string `json:"image,omitempty"`
	// Interrupted says that an earlier run ended without telling what it did, so that this one looks for what that may have left.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Event is one line of progress.
type Event struct {
	Kind    provider.EventKind `json:"kind"`
	At      time.Time          `json:"at"`
	Message string             `json:"message"`
}

// Progress is how far a run is.
type Progress struct {
	// Events are the newest 20, oldest first.
	Events []Event `json:"events,omitempty"`
}

// Outcome is how a run ended.
type Outcome struct {
	// Failure is nil where the run did what it was to do.
	Failure *Failure `json:"failure,omitempty"`
	// Changes are what was planned, or done, those that destroy something first.
	Changes []provider.Change `json:"changes,omitempty"`
	// Digest is that of the plan that was made: by a plan, and by an apply that ended as PlanChanged or ApprovalNeeded.
	Digest string `json:"digest,omitempty"`
	// Guarded says that this plan can be applied only with an approval.
	Guarded bool `json:"guarded,omitempty"`
	// Outputs are the module's that are not sensitive.
	Outputs    map[string]json.RawMessage `json:"outputs,omitempty"`
	Resources  []provider.Resource        `json:"resources,omitempty"`
	LeftBehind []provider.Resource        `json:"leftBehind,omitempty"`
	EndedAt    time.Time                  `json:"endedAt"`
}

// Failure is why a run failed.
type Failure struct {
	// Reason is one of v1alpha1's reasons of a run.
	Reason string `json:"reason"`
	// Field is what is wrong in the request, such as variables.region; empty where it is nothing of the request.
	Field string `json:"field,omitempty"`
	// Message says it with the way out, without secrets.
	Message string `json:"message"`
}

// Ledger is what outlives each run of a cluster.
type Ledger struct {
	// Made is what runs reported as made and not as gone since, by ID, oldest first.
	Made []provider.Resource `json:"made,omitempty"`
	// Running is the record of the run that began last and has not told its outcome.
	Running string `json:"running,omitempty"`
	// Order is that of the newest apply that succeeded, or began to change something: what a destroy goes by.
	Order *Order `json:"order,omitempty"`
	// Unsettled says that an apply or destroy may have left things that nobody reported, and that no run has looked for them since.
	Unsettled bool `json:"unsettled,omitempty"`
	// Applied is the outcome of the newest apply that succeeded, without its changes.
	Applied *Outcome `json:"applied,omitempty"`
	// LeftBehind is what runs said is neither in the state nor gone, until a look no longer finds it.
	LeftBehind []provider.Resource `json:"leftBehind,omitempty"`
}

// maxJSON is how large a text may be once it is no longer compressed.
const maxJSON = 64 << 20

// Pack writes a value as compressed JSON.
func Pack(value any) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if err := json.NewEncoder(zip).Encode(value); err != nil {
		return nil, fmt.Errorf("packing %T: %w", value, err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("packing %T: %w", value, err)
	}
	return out.Bytes(), nil
}

// Unpack reads what Pack wrote. Nothing at all leaves the value as it is.
func Unpack(data []byte, value any) error {
	if len(data) == 0 {
		return nil
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("unpacking %T: %w", value, err)
	}
	if err := json.NewDecoder(io.LimitReader(zip, maxJSON)).Decode(value); err != nil {
		return fmt.Errorf("unpacking %T: %w", value, err)
	}
	return nil
}
