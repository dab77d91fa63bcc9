// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/sdk/provider"
)

// Parts is in how many more Secrets, twice, a state is kept that is too large for one.
const Parts = 4

// Names are those of all that the runs of one incarnation of a Cluster keep, in namespace infrared. The operator makes each of
// them beforehand, empty, since no rule by name lets anybody create.
type Names struct {
	// Suffix is <cluster>-u<first 8 digits of the incarnation>, the same in every run.
	Suffix string
}

// NamesOf are the names of a Cluster's incarnation.
func NamesOf(cluster, incarnation string) Names {
	return Names{Suffix: v1alpha1.RecordName(cluster, incarnation)}
}

// State is the Secret of OpenTofu's state.
func (n Names) State() string { return "tfstate-default-" + n.Suffix }

// Part is a Secret with a part of a state that is too large for one. Sets a and b take turns, so that a state that is being written
// never touches the one that counts.
func (n Names) Part(set string, number int) string {
	return fmt.Sprintf("%s-%s%d", n.State(), set, number)
}

// AllParts are the Secrets with parts of the state, in order.
func (n Names) AllParts() []string {
	var all []string
	for _, set := range []string{"a", "b"} {
		for i := range Parts {
			all = append(all, n.Part(set, i))
		}
	}
	return all
}

// Lease is OpenTofu's lock.
func (n Names) Lease() string { return "lock-" + n.State() }

// Plan is the Secret of the saved plan.
func (n Names) Plan() string { return "infrared-plan-" + n.Suffix }

// Ledger is the ConfigMap of what runs reported as made, and of what the newest run left.
func (n Names) Ledger() string { return "infrared-ledger-" + n.Suffix }

// Account is the ServiceAccount of the runs, and its Role and RoleBinding.
func (n Names) Account() string { return "infrared-build-" + n.Suffix }

// JobName is the Job of a run.
func JobName(cluster string, generation int64, action provider.Action) string {
	return fmt.Sprintf("tofu-%s-%d-%s", cluster, generation, action)
}

// RecordName is the ConfigMap that keeps a run's log and result. A Job of the same name made later, for another incarnation or
// another attempt, has another.
func RecordName(job, incarnation string, attempt int32) string {
	name := v1alpha1.RecordName(job, incarnation)
	if attempt > 1 {
		name += fmt.Sprintf("-%d", attempt)
	}
	return name
}

// The keys of the objects. Those that end in .gz hold compressed JSON, in binaryData.
const (
	KeyOrder    = "order.json.gz"    // record: an Order, by the operator
	KeyProgress = "progress.json.gz" // record: a Progress, by infrared-build
	KeyOutcome  = "outcome.json.gz"  // record: an Outcome, by infrared-build; not there while the run goes
	KeyLog      = "log"              // record: OpenTofu's output for people, its newest part
	KeyLedger   = "ledger.json.gz"   // ledger: a Ledger
	KeyPlan     = "plan"             // plan: the saved plan
	KeyDigest   = "digest"           // plan: its digest
	KeyChanges  = "changes.json.gz"  // plan: its changes, as compressed JSON of []provider.Change, also where the plan itself is too large to be kept
)

// The annotations on OpenTofu's Lease that say which pod took it last, by infrared-build. While the Lease has a holder, that is it.
const (
	StampJob    = "infrared.darkshift.io/job"
	StampJobUID = "infrared.darkshift.io/job-uid"
	StampPod    = "infrared.darkshift.io/pod"
	StampPodUID = "infrared.darkshift.io/pod-uid"
	StampNode   = "infrared.darkshift.io/node"
	// StampLock is the lock's ID: where it is another than the holder, somebody took the lock past infrared-build, and the rest is old.
	StampLock = "infrared.darkshift.io/lock"
)

// The environment by which infrared-build knows its run, beside the names of its objects.
const (
	EnvNamespace = "INFRARED_NAMESPACE"
	EnvRecord    = "INFRARED_RECORD" // the record's name
	EnvSuffix    = "INFRARED_SUFFIX" // Names.Suffix
	EnvJob       = "JOB_NAME"
	EnvJobUID    = "JOB_UID"
	EnvPod       = "POD_NAME"
	EnvPodUID    = "POD_UID"
	EnvNode      = "NODE_NAME"
)

// Where things are in the pod.
const (
	Programs    = "/infrared"    // emptyDir with infrared-build and the plugin, filled by the init container
	Work        = "/work"        // emptyDir, BuildRequest.Folder; the same path in every run, since a plan names it
	Credentials = "/credentials" // the Secret with the cloud's credentials
)
