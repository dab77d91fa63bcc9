// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Action is what a Build does.
type Action string

// The actions.
const (
	// ActionPlan shows what an apply would do, and changes nothing.
	ActionPlan Action = "plan"
	// ActionApply makes the cloud match the request.
	ActionApply Action = "apply"
	// ActionDestroy takes away all that applies ever made for this incarnation.
	ActionDestroy Action = "destroy"
)

// BuildRequest is one run.
type BuildRequest struct {
	Cluster Cluster
	Action  Action
	// Version is the template's version, a tag such as v0.14.0. The template's name is in Cluster.
	Version string
	// Source is where the module is, in OpenTofu's words; empty: the provider's own, at Version.
	Source string
	// Variables are the module's inputs by name, each one JSON value, checked against the template's schema by the host.
	Variables map[string]json.RawMessage
	// Labels go on everything made: infrared-cluster and infrared-cluster-uid.
	Labels map[string]string
	// Credentials are the cloud's, and GIT_TOKEN for a private module source.
	Credentials Credentials
	// State is where OpenTofu keeps its state.
	State State
	// Folder is an absolute path to an empty folder of the run's own, the same in every run of the cluster.
	Folder string
	// PlanDigest is the digest of the plan that a person saw; an apply that would do anything else is a Conflict. Empty:
	// whatever is needed.
	PlanDigest string
	// Plan is the saved plan with that digest, as the run that made it returned it; empty: plan again.
	Plan Secret
	// Ledger is what earlier runs reported as made. What is not in the state is imported, or listed as left behind.
	Ledger []Resource
}

// State is where OpenTofu's Kubernetes backend keeps its state.
type State struct {
	// Host is the address of the API server, or of the proxy that lets through what the backend needs.
	Host string
	// Token is the bearer token for Host; empty where Host asks for none.
	Token Secret
	// CA is PEM for Host; empty where Host is plain http on loopback.
	CA []byte
	// Namespace and Suffix name the Secret tfstate-default-<suffix> and its Lease.
	Namespace, Suffix string
}

// EventKind says what an event tells.
type EventKind string

// The kinds of event.
const (
	// EventMessage: a line for a person.
	EventMessage EventKind = "Message"
	// EventWarning: something that a person should mind.
	EventWarning EventKind = "Warning"
	// EventPlanned: Address would be changed.
	EventPlanned EventKind = "Planned"
	// EventStarted: a change of Address began.
	EventStarted EventKind = "Started"
	// EventDone: the change of Address is done. Resource is what was made; the host writes it into its ledger at once, so
	// report it as soon as the cloud has answered.
	EventDone EventKind = "Done"
	// EventFailed: the change of Address failed.
	EventFailed EventKind = "Failed"
)

// Event is one line of a build's progress.
type Event struct {
	Kind EventKind
	// Time is when it happened.
	Time time.Time
	// Address is the thing's address in the template, such as module.vpc.aws_subnet.private[0]; empty for a mere line.
	Address string
	// Operation is what is done to it; empty for a mere line.
	Operation Operation
	// Message is for people: short, without secrets and without colours.
	Message string
	// Resource is what was made or is gone; nil where that is not known.
	Resource *Resource
	// Elapsed is how long the change has taken so far.
	Elapsed time.Duration
}

// Operation is what a plan does to one thing.
type Operation string

// The operations. Delete and Replace destroy something.
const (
	OperationCreate  Operation = "Create"
	OperationRead    Operation = "Read"
	OperationUpdate  Operation = "Update"
	OperationReplace Operation = "Replace"
	OperationDelete  Operation = "Delete"
)

// Destructive says whether something that is there would be gone.
func (o Operation) Destructive() bool { return o == OperationReplace || o == OperationDelete }

// Change is what a plan does to one thing.
type Change struct {
	// Address is the thing's address in the template, Type its type, such as aws_eks_node_group.
	Address, Type string
	Operation     Operation
	// Why is the reason for a replacement, as the attributes that force it; empty where there is none.
	Why string
}

// WhyUnfinished is the reason for replacing what an earlier run began to make and did not finish.
const WhyUnfinished = "because an earlier run did not finish it"

// Loses says whether the change destroys or replaces something that is guarded: see [Template.Guarded]. The keys of instances in the
// address do not count: terraform_data.node["a"] is guarded by terraform_data.node. What was never finished is no loss: an interrupted run
// could not be gone on with otherwise.
func (c Change) Loses(guarded []string) bool {
	if c.Operation == OperationReplace && c.Why == WhyUnfinished {
		return false
	}
	if !c.Operation.Destructive() || len(guarded) == 0 {
		return c.Operation.Destructive()
	}
	address := withoutKeys(c.Address)
	return slices.ContainsFunc(guarded, func(name string) bool { return name == c.Type || name == address })
}

// withoutKeys is an address without what is in brackets, and without what is said of it behind a blank. A key may hold brackets, too,
// within its quotes.
func withoutKeys(address string) string {
	var bare strings.Builder
	inKey, inQuotes, escaped := false, false, false
	for _, r := range address {
		switch {
		case escaped:
			escaped = false
		case inQuotes && r == '\\':
			escaped = true
		case inKey && r == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case r == '[':
			inKey = true
		case r == ']':
			inKey = false
		case r == ' ' && !inKey:
			return bare.String()
		case !inKey:
			bare.WriteRune(r)
		}
	}
	return bare.String()
}

// BuildResult is what a run did.
type BuildResult struct {
	// Changes are what was planned, or what an apply or destroy did: destructive ones first, then by address. Empty: nothing
	// to do.
	Changes []Change
	// PlanDigest names exactly these changes to exactly this state by exactly this module; a plan's only.
	PlanDigest string
	// Plan is the saved plan, for the apply; it holds sensitive values in clear. Empty where none is kept.
	Plan Secret
	// Outputs are the module's outputs by name, without those marked sensitive.
	Outputs map[string]json.RawMessage
	// Resources are what the state holds after the run.
	Resources []Resource
	// LeftBehind are things that were made and are neither in the state nor gone.
	LeftBehind []Resource
}
