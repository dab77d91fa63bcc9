// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"errors"
	"slices"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

// answers are what the plugin was asked for in this run, and what it told.
type answers struct {
	// acted says that Build was called to apply or destroy.
	acted bool
	// told says that Build has read the state; resources are what is in it.
	told      bool
	resources []provider.Resource
	// unsettled is what the ledger says after this run.
	unsettled bool
}

// sight is what a look around has found, by ID.
type sight struct {
	// whole says that there was a look, and that it saw everything there is to see.
	whole bool
	there []provider.Resource
	gone  map[string]bool
}

// looksAround says whether to look for what earlier runs left. Without the state nobody can tell what is left over from what is in it, so
// a run that did not get as far leaves the look to the next.
func (s *session) looksAround(err error) bool {
	due := s.order.Interrupted || s.before.Unsettled || len(s.before.LeftBehind) > 0
	return due && s.found.told && !errors.Is(err, pluginhost.ErrUnusable) && !errors.Is(err, errStopped)
}

// sweep looks for what is provably the cluster's.
func (s *session) sweep(life context.Context) sight {
	l := s.ledger.snapshot()
	findings, err := s.host.Provider(s.order.Plugin, s.cloud()).Sweep(life, provider.SweepRequest{
		Cluster: s.order.Cluster, Credentials: s.creds, Recorded: slices.Concat(l.Made, l.LeftBehind),
	})
	if err != nil {
		if !errors.Is(err, provider.Unsupported) {
			s.events.Report(provider.Event{
				Kind: provider.EventWarning, Time: s.run.Clock.Now(),
				Message: "what earlier runs may have left was not looked for, and the next run does it: " + err.Error(),
			})
		}
		return sight{}
	}
	look := sight{whole: len(findings.NotLooked) == 0, gone: map[string]bool{}}
	for _, finding := range slices.Concat(findings.Present, findings.Unknown) {
		look.there = append(look.there, s.red.resource(finding.Resource))
	}
	for _, finding := range slices.Concat(findings.Absent, findings.Backups) {
		look.gone[finding.Resource.ID] = true
	}
	return look
}

// account completes what the outcome says was left behind: what was listed before stays listed until it is in the state or a look no longer
// finds it, and what a look found and nobody has accounted for is listed from now on.
func (s *session) account(outcome *run.Outcome, look sight) {
	l := s.ledger.snapshot()
	there, known := byID(look.there), byID(outcome.Resources, s.found.resources)
	left := slices.DeleteFunc(slices.Clone(outcome.LeftBehind), func(r provider.Resource) bool { return look.gone[r.ID] })
	for _, resource := range left {
		known[resource.ID] = true
	}
	for _, resource := range l.LeftBehind {
		if known[resource.ID] || look.gone[resource.ID] || look.whole && !there[resource.ID] {
			continue
		}
		known[resource.ID] = true
		left = append(left, resource)
	}
	for _, resource := range l.Made {
		known[resource.ID] = true
	}
	for _, resource := range look.there {
		if !known[resource.ID] {
			known[resource.ID] = true
			left = append(left, resource)
		}
	}
	outcome.LeftBehind = left
}

// unsettled says whether things may be left that nobody has reported: this run ended without being able to tell, or an earlier one did
// and nobody has looked since.
func (s *session) unsettled(outcome run.Outcome, look sight) bool {
	if (s.order.Interrupted || s.before.Unsettled) && !look.whole {
		return true
	}
	return s.found.acted && outcome.Failure != nil && slices.Contains([]string{
		v1alpha1.ReasonInterrupted, v1alpha1.ReasonRunLost, v1alpha1.ReasonProviderFailed, v1alpha1.ReasonProviderUnavailable, v1alpha1.ReasonCloudUnavailable,
	}, outcome.Failure.Reason)
}

// byID is which things are in the lists.
func byID(lists ...[]provider.Resource) map[string]bool {
	found := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list {
			found[resource.ID] = true
		}
	}
	return found
}
