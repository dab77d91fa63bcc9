// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

// Build plans, applies or destroys. The cloud keeps the state, which stands for OpenTofu's, and lets one run at a time hold
// it.
func (p *Provider) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	return pass(ctx, p.gate, VerbBuild, func(b *provider.BuildResult, pad string) {
		if b.Outputs == nil {
			b.Outputs = map[string]json.RawMessage{}
		}
		b.Outputs["padding"] = quote(pad)
	}, func() (provider.BuildResult, error) {
		if err := checkCluster(req.Cluster); err != nil {
			return provider.BuildResult{}, err
		}
		s, err := p.cloud.open(req.Credentials)
		if err != nil {
			return provider.BuildResult{}, err
		}
		if err := p.cloud.check(ctx, s); err != nil {
			return provider.BuildResult{}, err
		}
		if err := p.cloud.lock(s, req.Cluster); err != nil {
			return provider.BuildResult{}, err
		}
		defer p.cloud.unlock(s, req.Cluster)
		return p.build(ctx, s, req, r)
	})
}

func (p *Provider) build(ctx context.Context, s session, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	made, err := p.plan(ctx, s, req)
	if err != nil {
		return p.result(s, req, nil), err
	}
	switch req.Action {
	case provider.ActionPlan:
		for _, st := range made.steps {
			r.Report(p.event(provider.EventPlanned, st, nil))
		}
		result := p.result(s, req, made.changes())
		result.PlanDigest, result.Plan = made.digest, provider.NewSecret("the plan "+made.digest)
		return result, nil
	case provider.ActionApply, provider.ActionDestroy:
	default:
		return provider.BuildResult{}, provider.Invalidf("action", "%q is none: use plan, apply or destroy", req.Action)
	}
	if req.PlanDigest != "" && req.PlanDigest != made.digest {
		return p.result(s, req, nil), provider.Errorf(provider.Conflict, "the plan is no longer what would happen: make a new one and have it approved")
	}
	var done []provider.Change
	for _, st := range made.steps {
		if err := p.carryOut(ctx, s, req, st, r); err != nil {
			result := p.result(s, req, done)
			result.LeftBehind = resources(made.stray)
			return result, err
		}
		done = append(done, st.change)
	}
	result := p.result(s, req, done)
	result.LeftBehind = resources(made.stray)
	return result, nil
}

// carryOut does one step: what is there goes, what shall be comes, and both are written down at once.
func (p *Provider) carryOut(ctx context.Context, s session, req provider.BuildRequest, st step, r provider.Reporter) error {
	r.Report(p.event(provider.EventStarted, st, nil))
	if st.old != nil {
		if err := p.cloud.remove(ctx, s, st.old.ID); err != nil && !errors.Is(err, errNotFound) {
			r.Report(p.event(provider.EventFailed, st, nil))
			return err
		}
		p.cloud.forget(s, req.Cluster, st.old.ID)
	}
	if st.want == nil {
		r.Report(p.event(provider.EventDone, st, st.old))
		return nil
	}
	t, err := p.cloud.create(ctx, s, *st.want)
	if err != nil {
		r.Report(p.event(provider.EventFailed, st, nil))
		return err
	}
	p.cloud.remember(s, req.Cluster, t.ID)
	r.Report(p.event(provider.EventDone, st, &t))
	return nil
}

func (p *Provider) event(kind provider.EventKind, st step, t *Thing) provider.Event {
	e := provider.Event{
		Kind: kind, Time: p.cloud.options.Now(), Address: st.change.Address, Operation: st.change.Operation,
		Message: string(st.change.Operation) + " " + st.change.Address,
	}
	if t != nil {
		resource := t.Resource()
		e.Resource = &resource
	}
	return e
}

// result is what the state holds now. It asks no cloud, so it can be had also when ctx has ended.
func (p *Provider) result(s session, req provider.BuildRequest, changes []provider.Change) provider.BuildResult {
	state := p.cloud.state(s, req.Cluster)
	result := provider.BuildResult{Changes: changes, Resources: resources(state)}
	network, control := "", ""
	for _, t := range state {
		switch t.Kind {
		case KindNetwork:
			network = t.ID
		case KindCluster:
			control = t.ID
		}
	}
	if control == "" {
		return result
	}
	p.cloud.mu.Lock()
	p.cloud.start(req.Cluster, identityOf(req.Cluster, s.account, control, network))
	p.cloud.mu.Unlock()
	result.Outputs = map[string]json.RawMessage{
		"server": quote(serverOf(req.Cluster)), "ca": quote(string(caOf(req.Cluster))), "cluster_id": quote(control),
	}
	return result
}

func quote(text string) json.RawMessage {
	// A string always can be written as JSON.
	quoted, _ := json.Marshal(text)
	return quoted
}

func resources(things []Thing) []provider.Resource {
	var all []provider.Resource
	for _, t := range things {
		all = append(all, t.Resource())
	}
	slices.SortFunc(all, compareResources)
	return all
}
