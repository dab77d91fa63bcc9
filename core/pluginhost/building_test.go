// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

func TestCheckBuild(t *testing.T) {
	long := strings.Repeat("x", longestText+1)
	good := provider.Resource{Kind: "disk", ID: "a"}
	for name, c := range map[string]struct {
		reason string
		result provider.BuildResult
		want   string
		kept   func(provider.BuildResult) bool
	}{
		"nothing": {"a run may have nothing to do", provider.BuildResult{}, "", func(provider.BuildResult) bool { return true }},
		"plain": {
			"what is in order stays", provider.BuildResult{Resources: []provider.Resource{good}, Outputs: map[string]json.RawMessage{"a": json.RawMessage("1")}, Plan: provider.NewSecret("p"), PlanDigest: "d"}, "",
			func(r provider.BuildResult) bool {
				return len(r.Resources) == 1 && len(r.Outputs) == 1 && r.Plan.Reveal() == "p" && r.PlanDigest == "d"
			},
		},
		"an ID that is none": {
			"half an ID is another thing's, and the others are there all the same",
			provider.BuildResult{Resources: []provider.Resource{{Kind: "disk", ID: long}, good}, LeftBehind: []provider.Resource{good}}, "a resource's ID is longer",
			func(r provider.BuildResult) bool { return len(r.Resources) == 1 && len(r.LeftBehind) == 1 },
		},
		"too many things": {
			"a flood must not fill the record", provider.BuildResult{LeftBehind: make([]provider.Resource, mostResources+1)}, "more than 20000 things",
			func(r provider.BuildResult) bool { return len(r.LeftBehind) == mostResources },
		},
		"too many changes": {
			"a flood must not fill the record", provider.BuildResult{Changes: make([]provider.Change, mostChanges+2), Resources: []provider.Resource{good}}, "2 changes more",
			func(r provider.BuildResult) bool { return len(r.Changes) == mostChanges && len(r.Resources) == 1 },
		},
		"words": {
			"what is for people is cut and cleaned", provider.BuildResult{Changes: []provider.Change{{Address: "a\x1b[2Jb", Why: long}}}, "",
			func(r provider.BuildResult) bool {
				return r.Changes[0].Address == "a [2Jb" && len(r.Changes[0].Why) <= longestText
			},
		},
		"large outputs": {
			"they are kept with much else in one object", provider.BuildResult{Outputs: map[string]json.RawMessage{"a": make([]byte, largestOutputs)}, Resources: []provider.Resource{good}}, "larger than 256 KiB",
			func(r provider.BuildResult) bool { return r.Outputs == nil && len(r.Resources) == 1 },
		},
		"large plan": {
			"it is not kept, and the apply plans again", provider.BuildResult{Plan: provider.NewSecret(strings.Repeat("x", largestPlan+1)), PlanDigest: "d"}, "",
			func(r provider.BuildResult) bool { return r.Plan.IsZero() && r.PlanDigest == "d" },
		},
		"no digest": {
			"a plan without a name can't be applied", provider.BuildResult{Plan: provider.NewSecret("p"), PlanDigest: long}, "the plan's digest is longer",
			func(r provider.BuildResult) bool { return r.Plan.IsZero() && r.PlanDigest == "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := checkBuild(c.result)
			if c.want == "" && err != nil || !strings.Contains(said(err), c.want) || !c.kept(got) {
				t.Errorf("%v, want %q, and of the rest what is in order: %s", err, c.want, c.reason)
			}
		})
	}
}

// heard collects events.
type heard struct{ all []provider.Event }

func (h *heard) Report(e provider.Event) { h.all = append(h.all, e) }

// tells reports one event and answers.
type tells struct {
	provider.Provider
	event  provider.Event
	result provider.BuildResult
	err    error
}

func (b tells) Build(_ context.Context, _ provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	r.Report(b.event)
	return b.result, b.err
}

// What a build answers beside an error counts, so it is held against the contract too.
func TestBuildIsBounded(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		long := strings.Repeat("x", 2*longestText)
		w.change(serving(tells{
			event: provider.Event{Kind: provider.EventDone, Message: "a\nb" + long, Resource: &provider.Resource{Kind: "disk", ID: long}},
			result: provider.BuildResult{
				Resources: []provider.Resource{{Kind: "disk", ID: "a", Name: long}, {Kind: "disk", ID: long}},
			},
			err: provider.Errorf(provider.Quota, "full"),
		}))
		w.host.Ensure("eks", Spec{})
		w.state(t)
		h := &heard{}
		result, err := w.host.Provider("eks", "").Build(t.Context(), provider.BuildRequest{}, h)
		if provider.KindOf(err) != provider.Quota || len(result.Resources) != 1 || len(result.Resources[0].Name) > longestText {
			t.Errorf("the answer is %v with %d things", err, len(result.Resources))
		}
		if len(h.all) != 1 || len(h.all[0].Message) > longestText || strings.Contains(h.all[0].Message, "\n") || h.all[0].Resource != nil {
			t.Errorf("heard %d events", len(h.all))
		}
	})
}

// A build winds down for as long as its host allows.
func TestStopTime(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.change(func(Spec) (*fakeProcess, error) { return newMulish(nil, true), nil })
		host := newHost(Options{StopTime: 10 * time.Minute}, w.dial)
		host.Ensure("eks", Spec{})
		elapse(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		host.Close(ctx)
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("the plugin had %v to end, want 10 minutes", took)
		}
	})
}
