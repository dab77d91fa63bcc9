// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// Build compares what the template wants with what is there, and makes the difference or shows it. What is there is known by
// its labels, so there is no state to lose. A provider that builds with OpenTofu uses sdk/tofu instead.
func (folder) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	c, err := open(ctx, req.Credentials, rightBuild)
	if err != nil {
		return provider.BuildResult{}, err
	}
	defer c.close()
	want, err := wanted(req)
	if err != nil {
		return provider.BuildResult{}, err
	}
	unlock, err := c.lock(req.Cluster)
	if err != nil {
		return provider.BuildResult{}, err
	}
	defer unlock()
	there, err := c.built(ctx, req.Cluster)
	if err != nil {
		return provider.BuildResult{}, err
	}
	steps := compare(there, want)
	result := provider.BuildResult{PlanDigest: digest(req, steps)}
	switch {
	case req.Action == provider.ActionPlan:
		for _, s := range steps {
			r.Report(s.event(provider.EventPlanned, nil))
			result.Changes = append(result.Changes, s.change)
		}
		return result, nil
	case req.PlanDigest != "" && req.PlanDigest != result.PlanDigest:
		return provider.BuildResult{}, provider.Errorf(provider.Conflict, "the plan is no longer what would happen: make a new one and have it approved")
	}
	return c.carryOut(ctx, req, steps, r)
}

// wanted is what the template makes; nothing, for a destroy.
func wanted(req provider.BuildRequest) ([]thing, error) {
	of := req.Cluster
	switch {
	case of.Name == "" || of.Incarnation == "" || strings.ContainsAny(of.Name+of.Incarnation, "/\\"):
		return nil, provider.Invalidf("cluster", "needs a name and an incarnation without slashes")
	case of.Template != templateName:
		return nil, provider.Invalidf("cluster.template", "%q is none of this provider's: use %s", of.Template, templateName)
	case req.Action == provider.ActionDestroy:
		return nil, nil
	case req.Action != provider.ActionPlan && req.Action != provider.ActionApply:
		return nil, provider.Invalidf("action", "%q is none: use plan, apply or destroy", req.Action)
	}
	nodes, size := 2, "small"
	for _, name := range slices.Sorted(maps.Keys(req.Variables)) {
		into := map[string]any{"nodes": &nodes, "size": &size}[name]
		if into == nil {
			return nil, provider.Invalidf("variables."+name, "there is no such variable: use nodes and size")
		}
		if json.Unmarshal(req.Variables[name], into) != nil {
			return nil, provider.Invalidf("variables."+name, "has the wrong type")
		}
	}
	if nodes < 1 || nodes > 9 {
		return nil, provider.Invalidf("variables.nodes", "%d nodes can't be had: use 1 to 9", nodes)
	}
	if size != "small" && size != "large" {
		return nil, provider.Invalidf("variables.size", "%q is no size: use small or large", size)
	}
	// Another cluster of this name has another incarnation, and so other names.
	stem := of.Name + "-u" + of.Incarnation[:min(8, len(of.Incarnation))]
	all := []thing{{Kind: kindCluster, Name: stem, Zone: zones()[0], Labels: labels(of), Settings: map[string]string{"address": "cluster.main"}}}
	for i := range nodes {
		all = append(all, thing{
			Kind: kindNode, Name: fmt.Sprintf("%s-%d", stem, i), Zone: zones()[i%len(zones())], Labels: labels(of),
			Settings: map[string]string{"address": fmt.Sprintf("node.worker[%d]", i), "size": size},
		})
	}
	return all, nil
}

// built are the things that builds made for the cluster, by ID. Here half a list is an error: what is not seen would be made
// again, or left.
func (c *cloud) built(ctx context.Context, of provider.Cluster) (map[string]thing, error) {
	found := map[string]thing{}
	for _, zone := range zones() {
		all, err := c.list(ctx, zone)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if t.is(of) && t.Settings["address"] != "" {
				found[t.id()] = t
			}
		}
	}
	return found, nil
}

// step is one change: old goes, want comes.
type step struct {
	change    provider.Change
	old, want *thing
}

// compare lists what has to be done, what destroys something first, then by address.
func compare(there map[string]thing, want []thing) []step {
	var steps []step
	add := func(operation provider.Operation, old, want *thing, why string) {
		of := cmp.Or(want, old)
		steps = append(steps, step{old: old, want: want, change: provider.Change{
			Address: of.Settings["address"], Type: "folder_" + of.Kind, Operation: operation, Why: why,
		}})
	}
	keep := map[string]bool{}
	for _, w := range want {
		keep[w.id()] = true
		old, ok := there[w.id()]
		switch {
		case !ok:
			add(provider.OperationCreate, nil, &w, "")
		case !maps.Equal(old.Settings, w.Settings):
			add(provider.OperationReplace, &old, &w, "size")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		if old := there[id]; !keep[id] {
			add(provider.OperationDelete, &old, nil, "")
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		if a.change.Operation.Destructive() != b.change.Operation.Destructive() {
			if a.change.Operation.Destructive() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.change.Address, b.change.Address)
	})
	return steps
}

// digest names a plan by what it does, and to what.
func digest(req provider.BuildRequest, steps []step) string {
	h := sha256.New()
	fmt.Fprintln(h, req.Version, req.Source)
	for _, s := range steps {
		fmt.Fprintln(h, s.change)
		for _, t := range []*thing{s.old, s.want} {
			if t != nil {
				fmt.Fprintln(h, t.id(), t.Settings)
			}
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// carryOut does the steps in order. However it ends, the result says what is there.
func (c *cloud) carryOut(ctx context.Context, req provider.BuildRequest, steps []step, r provider.Reporter) (provider.BuildResult, error) {
	var result provider.BuildResult
	var failed error
	for _, s := range steps {
		r.Report(s.event(provider.EventStarted, nil))
		made, err := c.do(ctx, s)
		if err != nil {
			r.Report(s.event(provider.EventFailed, nil))
			failed = err
			break
		}
		resource := made.resource(c.path)
		r.Report(s.event(provider.EventDone, &resource))
		result.Changes = append(result.Changes, s.change)
	}
	// This look has to be made also where ctx has ended: it is quick, and tells what was made.
	there, err := c.built(context.WithoutCancel(ctx), req.Cluster)
	for _, t := range there {
		result.Resources = append(result.Resources, t.resource(c.path))
		if t.Kind == kindCluster {
			result.Outputs = map[string]json.RawMessage{"cluster_id": fmt.Appendf(nil, "%q", t.id())}
		}
	}
	slices.SortFunc(result.Resources, compareResources)
	result.LeftBehind = c.leftBehind(context.WithoutCancel(ctx), req.Ledger, there)
	return result, cmp.Or(failed, err)
}

// do carries out one step, and returns what was made or is gone.
func (c *cloud) do(ctx context.Context, s step) (thing, error) {
	if s.old != nil {
		if err := c.remove(ctx, *s.old); err != nil {
			return thing{}, err
		}
	}
	if s.want == nil {
		return *s.old, nil
	}
	return c.create(ctx, *s.want)
}

// leftBehind is what earlier runs made that is there, or may be, and that no build of this cluster knows any more.
func (c *cloud) leftBehind(ctx context.Context, ledger []provider.Resource, there map[string]thing) []provider.Resource {
	var left []provider.Resource
	for _, recorded := range ledger {
		if _, known := there[recorded.ID]; known {
			continue
		}
		if _, err := c.get(ctx, recorded.ID); !errors.Is(err, errGone) {
			left = append(left, recorded)
		}
	}
	slices.SortFunc(left, compareResources)
	return left
}

func (s step) event(kind provider.EventKind, resource *provider.Resource) provider.Event {
	return provider.Event{
		Kind: kind, Time: time.Now(), Address: s.change.Address, Operation: s.change.Operation,
		Message: string(s.change.Operation) + " " + s.change.Address, Resource: resource,
	}
}
