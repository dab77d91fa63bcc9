// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// Annotations of a run's record, and of its Job and pod.
const (
	// annotationRun, on record and Job, is which run it is: an identity as JSON.
	annotationRun = "infrared.darkshift.io/run"
	// annotationRecord, on Job and pod, is the record's name.
	annotationRecord = "infrared.darkshift.io/record"
	// annotationEnded, on the record, is how the run ended: succeeded, or the reason why it failed. It is written last of all that is
	// done at a run's end.
	annotationEnded = "infrared.darkshift.io/ended"
)

// succeeded is the value of annotationEnded of a run that did what it was to do.
const succeeded = "Succeeded"

// identity is which run a run is.
type identity struct {
	// Number counts the runs of an incarnation.
	Number     int64           `json:"number"`
	Job        string          `json:"job"`
	Generation int64           `json:"generation"`
	Attempt    int32           `json:"attempt"`
	Action     v1alpha1.Action `json:"action"`
	// Inputs is a hash of what asks for the run, PlanInputs of what its plan is made from.
	Inputs     string `json:"inputs"`
	PlanInputs string `json:"planInputs"`
	Version    string `json:"version,omitempty"`
	// Approved is the digest of the plan that a person had approved when it began.
	Approved string `json:"approved,omitempty"`
}

// text is the value of annotationRun.
func (i identity) text() string {
	text, err := json.Marshal(i)
	if err != nil {
		panic(fmt.Sprintf("writing which run it is: %v", err)) // strings and numbers can always be written
	}
	return string(text)
}

// wanted is the run that the Cluster's spec asks for.
func wanted(c *v1alpha1.Cluster) identity {
	action := v1alpha1.ActionPlan
	if c.Spec.Provision != nil && c.Spec.Provision.Action != "" {
		action = c.Spec.Provision.Action
	}
	return wantedFor(c, action)
}

// wantedFor is the run of an action for the Cluster as it is now.
func wantedFor(c *v1alpha1.Cluster, action v1alpha1.Action) identity {
	id := identity{
		Job:        run.JobName(c.Name, c.Generation, provider.Action(action)),
		Generation: c.Generation,
		Attempt:    1,
		Action:     action,
		Version:    c.Spec.Template.Version,
	}
	p := provision(c)
	plan := []any{c.Spec.Template.Module, c.Spec.Template.Version, p.Source, p.Variables, p.CloudAccount}
	id.PlanInputs = hash(plan)
	id.Inputs = hash(append(plan, p.Image, p.Run, action))
	return id
}

// provision is spec.provision, also where it is left out.
func provision(c *v1alpha1.Cluster) v1alpha1.Provision {
	if c.Spec.Provision == nil {
		return v1alpha1.Provision{}
	}
	return *c.Spec.Provision
}

// hash is the same for values that are written the same as JSON, in which maps are sorted.
func hash(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("hashing the inputs of a run: %v", err)) // strings and numbers can always be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
