// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"darkshift.io/infrared/sdk/provider"
)

// traitAddress is the trait that holds a thing's address in the template.
const traitAddress = "address"

// step is one change, with the thing that is there and the one that shall be.
type step struct {
	change provider.Change
	old    *Thing
	want   *Thing
}

// plan is what a build would do.
type plan struct {
	steps []step
	// digest names the plan: the same steps from the same things.
	digest string
	// stray are things of the ledger that are in no state and have no place in the template.
	stray []Thing
}

// wanted is what the template makes.
func (p *Provider) wanted(req provider.BuildRequest) ([]Thing, error) {
	if req.Cluster.Template != TemplateName {
		return nil, provider.Invalidf("cluster.template", "%q is none of this provider's: use %s", req.Cluster.Template, TemplateName)
	}
	machine, nodes := "small", 2
	for _, name := range slices.Sorted(maps.Keys(req.Variables)) {
		var err error
		switch name {
		case "machine":
			err = decode(req.Variables[name], &machine)
		case "nodes":
			err = decode(req.Variables[name], &nodes)
		default:
			err = errors.New("there is no such variable")
		}
		if err != nil {
			return nil, provider.Invalidf("variables."+name, "%w", err)
		}
	}
	if machine != "small" && machine != "large" {
		return nil, provider.Invalidf("variables.machine", "%q is no machine: use small or large", machine)
	}
	if nodes < 1 || nodes > 100 {
		return nil, provider.Invalidf("variables.nodes", "%d nodes can't be had: use 1 to 100", nodes)
	}
	of := func(kind, address, name, zone string, hourly *provider.USD) Thing {
		all := labels(req.Cluster)
		maps.Copy(all, req.Labels)
		return Thing{Kind: kind, Name: name, Zone: zone, Labels: all, Traits: map[string]string{traitAddress: address}, Hourly: hourly}
	}
	all := []Thing{
		of(KindNetwork, "network.main", stem(req.Cluster), "", nil),
		of(KindCluster, "cluster.main", stem(req.Cluster), "", price(100_000)),
	}
	zones := p.cloud.Zones()
	for i := range nodes {
		node := of(KindNode, fmt.Sprintf("node.worker[%d]", i), fmt.Sprintf("%s-node-%d", stem(req.Cluster), i), zones[i%len(zones)], price(20_000))
		node.Traits["machine"] = machine
		all = append(all, node)
	}
	return all, nil
}

func decode(value json.RawMessage, into any) error {
	if err := json.Unmarshal(bytes.TrimSpace(value), into); err != nil {
		return errors.New("has the wrong type")
	}
	return nil
}

// plan compares what is there with what shall be.
func (p *Provider) plan(ctx context.Context, s session, req provider.BuildRequest) (plan, error) {
	want, err := p.wanted(req)
	if err != nil {
		return plan{}, err
	}
	if req.Action == provider.ActionDestroy {
		want = nil
	}
	there, stray, err := p.there(ctx, s, req, want)
	if err != nil {
		return plan{}, err
	}
	made := plan{stray: stray}
	for _, w := range want {
		old, ok := there[w.Kind+"/"+w.Name]
		delete(there, w.Kind+"/"+w.Name)
		switch {
		case !ok:
			made.add(provider.OperationCreate, nil, &w, "")
		case !maps.Equal(old.Traits, w.Traits):
			made.add(provider.OperationReplace, &old, &w, "machine")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(there)) {
		old := there[key]
		made.add(provider.OperationDelete, &old, nil, "")
	}
	slices.SortStableFunc(made.steps, func(a, b step) int { return compareChanges(a.change, b.change) })
	made.digest = made.sum(req)
	return made, nil
}

// there is what the state holds and the cloud still has, by kind and name, and what of the ledger has no place in it.
func (p *Provider) there(ctx context.Context, s session, req provider.BuildRequest, want []Thing) (map[string]Thing, []Thing, error) {
	found := map[string]Thing{}
	for _, old := range p.cloud.state(s, req.Cluster) {
		t, err := p.cloud.get(ctx, s, old.Kind, old.Zone, old.ID)
		switch {
		case errors.Is(err, errNotFound) || (err == nil && t.State == StateDeleting):
			if req.Action != provider.ActionPlan {
				p.cloud.forget(s, req.Cluster, old.ID)
			}
		case err != nil:
			return nil, nil, err
		default:
			found[t.Kind+"/"+t.Name] = t
		}
	}
	stray, err := p.importLedger(ctx, s, req, want, found)
	return found, stray, err
}

// importLedger puts what earlier runs reported, and the state has lost, among the found. It returns what of it has no place
// in the template.
func (p *Provider) importLedger(ctx context.Context, s session, req provider.BuildRequest, want []Thing, found map[string]Thing) ([]Thing, error) {
	var stray []Thing
	for _, recorded := range req.Ledger {
		t, err := p.cloud.get(ctx, s, recorded.Kind, recorded.Location, recorded.ID)
		if errors.Is(err, errNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		known, ok := found[t.Kind+"/"+t.Name]
		switch {
		case ok && known.ID == t.ID, t.State == StateDeleting:
		case ok || (req.Action != provider.ActionDestroy && !isWanted(t, want)):
			stray = append(stray, t)
		default:
			found[t.Kind+"/"+t.Name] = t
			if req.Action != provider.ActionPlan {
				p.cloud.remember(s, req.Cluster, t.ID)
			}
		}
	}
	return stray, nil
}

func isWanted(t Thing, want []Thing) bool {
	return slices.ContainsFunc(want, func(w Thing) bool { return w.Kind == t.Kind && w.Name == t.Name })
}

func (p *plan) add(operation provider.Operation, old, want *Thing, why string) {
	of := cmp.Or(want, old)
	p.steps = append(p.steps, step{old: old, want: want, change: provider.Change{
		Address: of.Traits[traitAddress], Type: "fake_" + of.Kind, Operation: operation, Why: why,
	}})
}

// changes are the plan as the host sees it.
func (p *plan) changes() []provider.Change {
	var all []provider.Change
	for _, s := range p.steps {
		all = append(all, s.change)
	}
	return all
}

// sum is the plan's digest: what it does, to which things, by which template.
func (p *plan) sum(req provider.BuildRequest) string {
	h := sha256.New()
	fmt.Fprintln(h, req.Version, req.Source)
	for _, s := range p.steps {
		fmt.Fprintln(h, s.change)
		if s.old != nil {
			fmt.Fprintln(h, s.old.ID)
		}
		if s.want != nil {
			fmt.Fprintln(h, s.want.Kind, s.want.Name, s.want.Zone, s.want.Traits)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// compareChanges puts what destroys something first, then sorts by address.
func compareChanges(a, b provider.Change) int {
	if a.Operation.Destructive() != b.Operation.Destructive() {
		if a.Operation.Destructive() {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Address, b.Address)
}
