// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import "fmt"

// Resource is one thing outside: the same shape everywhere, whatever the cloud.
type Resource struct {
	// Kind is one of the names in Facts.Kinds, such as load-balancer or disk.
	Kind string
	// ID is what the cloud's own API and console find it by: an ARN, a self link, a number.
	ID string
	// Name is the cloud's name for it; empty where it has none beside the ID.
	Name string
	// Location is its region or zone; empty for a global thing.
	Location string
	// Account is the AWS account, Google project or Linode account that it is in.
	Account string
	// Proof says by what it is the cluster's, Why the same for people, with the label, name or record.
	Proof Proof
	Why   string
	// Role is what it is for, where that matters to a deletion.
	Role Role
	// Hourly is what it costs an hour; nil where that is not known, which is not nothing.
	Hourly *USD
	// ConsoleURL is the page where a person sees it; empty where there is none.
	ConsoleURL string
}

// Proof is by what a thing is known to be the cluster's. Nobody seeming to use it is none.
type Proof string

// The proofs.
const (
	// ProofRecorded: its ID was written down while the cluster lived.
	ProofRecorded Proof = "Recorded"
	// ProofLabel: it carries our label with this incarnation.
	ProofLabel Proof = "Label"
	// ProofName: its name is computed from a UID of this cluster.
	ProofName Proof = "Name"
)

// Role is what a thing is for.
type Role string

// RoleSafetySnapshot is a disk's backup from a deletion: it carries the cluster's labels too, and stays.
const RoleSafetySnapshot Role = "safety-snapshot"

// USD is an amount of US dollars in millionths, without tax, discount and traffic. A month has 730 hours.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000

// String is the amount in dollars, with as many decimals as it needs and at least two: $0.0225, $73.00.
func (u USD) String() string {
	sign := ""
	whole, rest := u/Dollar, u%Dollar
	if u < 0 {
		// The smallest number has no positive twin, so only its parts are turned round.
		sign, whole, rest = "-", -whole, -rest
	}
	decimals := fmt.Sprintf("%06d", int64(rest))
	for len(decimals) > 2 && decimals[len(decimals)-1] == '0' {
		decimals = decimals[:len(decimals)-1]
	}
	return fmt.Sprintf("%s$%d.%s", sign, int64(whole), decimals)
}

// Findings is what a look at the outside found. What is in none of its lists was not there to be found.
type Findings struct {
	// Present is there, or is being deleted and not gone yet.
	Present []Finding
	// Absent is gone: its own API says so, not merely a list without it.
	Absent []Finding
	// Unknown may be either.
	Unknown []Finding
	// Backups are safety snapshots: there on purpose, and never left over.
	Backups []Finding
	// NotLooked is where things may be that nobody saw.
	NotLooked []NotLooked
}

// Finding is one thing and what is known of it.
type Finding struct {
	Resource Resource
	// Why is on what this rests, for people: which call answered what.
	Why string
	// State is the cloud's own word for its state, such as deleting; empty where it gave none.
	State string
}

// NotLooked is a place or a part that could not be looked at.
type NotLooked struct {
	// What is the kind of thing, one of the names in Facts.Kinds, or a part of the cluster, such as nodes.
	What string
	// Where is the region, zone, project or account; empty: everywhere.
	Where string
	// Why is what stood in the way, and the way out.
	Why string
}

// Clean says whether this one look saw all there is to see, and nothing of the cluster's. One clean look is not proof: a
// cloud may still be deleting, or not list what it has just made.
func (f Findings) Clean() bool {
	return len(f.Present) == 0 && len(f.Unknown) == 0 && len(f.NotLooked) == 0
}
