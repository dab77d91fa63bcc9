// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"fmt"

	"darkshift.io/infrared/sdk/provider"
)

// What one build may answer. The largest clusters have some thousand things.
const (
	mostChanges   = 20_000
	mostResources = 20_000
	// largestOutputs bounds the names and values of all outputs together, largestPlan a saved plan, in bytes: both are kept in objects of
	// at most 1 MiB.
	largestOutputs = 256 << 10
	largestPlan    = 900 << 10
)

// checkBuild bounds what a build answers. A breach costs only what is in breach: the rest tells what was made, and nothing else may.
func checkBuild(result provider.BuildResult) (provider.BuildResult, error) {
	var breaches []error
	if over := len(result.Changes) - mostChanges; over > 0 {
		result.Changes = result.Changes[:mostChanges]
		breaches = append(breaches, fmt.Errorf("%d changes more than the %d that can be kept", over, mostChanges))
	}
	for i, c := range result.Changes {
		result.Changes[i] = provider.Change{
			Address: prose(c.Address, longestText), Type: prose(c.Type, longestText),
			Operation: provider.Operation(prose(string(c.Operation), longestText)), Why: prose(c.Why, longestText),
		}
	}
	var err error
	for _, list := range []*[]provider.Resource{&result.Resources, &result.LeftBehind} {
		if *list, err = fitResources(*list); err != nil {
			breaches = append(breaches, err)
		}
	}
	size := 0
	for name, value := range result.Outputs {
		size += len(name) + len(value)
	}
	if size > largestOutputs {
		result.Outputs = nil
		breaches = append(breaches, fmt.Errorf("the outputs are larger than %d KiB", largestOutputs>>10))
	}
	if len(result.Plan.Reveal()) > largestPlan {
		result.Plan = provider.Secret{} // no breach: the apply plans again
	}
	if err := fit(named{"the plan's digest", result.PlanDigest}); err != nil {
		result.PlanDigest, result.Plan = "", provider.Secret{}
		breaches = append(breaches, err)
	}
	return result, errors.Join(breaches...)
}

// fitResources keeps those that can be stored, and says what is wrong with the first of the others.
func fitResources(all []provider.Resource) ([]provider.Resource, error) {
	var kept []provider.Resource
	var first error
	for _, resource := range all {
		err := fitResource(&resource)
		if err == nil && len(kept) == mostResources {
			err = fmt.Errorf("there are more than %d things in a list", mostResources)
		}
		if err == nil {
			kept = append(kept, resource)
		} else if first == nil {
			first = err
		}
	}
	return kept, first
}

// fitting hands events on whose texts can be stored and shown. An event whose thing can't be stored is handed on without it.
type fitting struct{ to provider.Reporter }

// Report implements provider.Reporter.
func (f fitting) Report(e provider.Event) {
	if f.to == nil {
		return
	}
	e.Message, e.Address = prose(e.Message, longestText), prose(e.Address, longestText)
	e.Kind, e.Operation = provider.EventKind(prose(string(e.Kind), longestText)), provider.Operation(prose(string(e.Operation), longestText))
	if e.Resource != nil {
		resource := *e.Resource
		e.Resource = nil
		if fitResource(&resource) == nil {
			e.Resource = &resource
		}
	}
	f.to.Report(e)
}
