// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

// undo is what a destroy is to do: the order of the newest apply that changed something, as it was given. The Cluster may have been changed
// since without an apply, and what was built in one region is not found in another.
func (b *Builder) undo(ctx context.Context, c *v1alpha1.Cluster, w *world, found Found) (*run.Order, error) {
	order, err := b.changed(ctx, w)
	if err != nil {
		return nil, err
	}
	if order == nil {
		return b.undoSpec(c, found)
	}
	has, err := properties(found.Template.Variables)
	if err != nil {
		return nil, err
	}
	// The plugin's own module may be a newer one by now. What its state holds is destroyed all the same.
	if order.Source == "" {
		order.Version = found.Facts.Version
	}
	maps.DeleteFunc(order.Variables, func(name string, _ json.RawMessage) bool { return !has[name] })
	return order, nil
}

// undoSpec is a destroy where nothing tells of an apply. What is asked of an image counts for what is to be built: here the operator's own
// one is taken.
func (b *Builder) undoSpec(c *v1alpha1.Cluster, found Found) (*run.Order, error) {
	c = c.DeepCopy()
	if c.Spec.Provision != nil {
		c.Spec.Provision.Image = ""
	}
	return b.fromSpec(c, found)
}

// changed is the order of the newest apply that changed something, the ledger's or else a record's; where none did, of the newest apply,
// which is not trusted to name an image that exists. Nil: nothing tells of an apply.
func (b *Builder) changed(ctx context.Context, w *world) (*run.Order, error) {
	if order := w.ledger.Order; order != nil {
		kept := *order
		kept.Variables = maps.Clone(order.Variables)
		return &kept, nil
	}
	if r, order, err := b.newestChange(ctx, w); err != nil || r != nil {
		return order, err
	}
	apply := w.newestOf(v1alpha1.ActionApply)
	if apply == nil {
		return nil, nil
	}
	order, err := b.order(ctx, *apply)
	if order != nil {
		order.Image = ""
	}
	return order, err
}

// newestChange is the newest apply whose record has its order, and that changed something by the looks: it succeeded, or told of changes, or
// did not tell how it ended. Nil: none.
func (b *Builder) newestChange(ctx context.Context, w *world) (*record, *run.Order, error) {
	idle := []string{v1alpha1.ReasonStartRefused, v1alpha1.ReasonApprovalNeeded, v1alpha1.ReasonPlanChanged}
	for i := range w.records {
		r := &w.records[i]
		if r.Action != v1alpha1.ActionApply || r.uid == "" || slices.Contains(idle, r.ended) {
			continue
		}
		told, err := b.read(ctx, *r)
		if err != nil {
			return nil, nil, err
		}
		if told.outcome != nil && !changes(*told.outcome) || told.withdrawn() {
			continue
		}
		if order, err := b.order(ctx, *r); err != nil || order != nil {
			return r, order, err
		}
	}
	return nil, nil, nil
}

// changes says whether an apply with this outcome may have changed something. One that stopped at a plan tells the plan's changes.
func changes(outcome run.Outcome) bool {
	switch {
	case outcome.Failure == nil:
		return true
	case outcome.Failure.Reason == v1alpha1.ReasonApprovalNeeded, outcome.Failure.Reason == v1alpha1.ReasonPlanChanged:
		return false
	}
	return len(outcome.Changes) > 0
}

// doubtful says that an apply or destroy may have made something that neither state nor ledger tells of.
func (w *world) doubtful(c *v1alpha1.Cluster) bool {
	if s := c.Status.Run; s != nil && s.Action != v1alpha1.ActionPlan && castsDoubt(s.Reason) {
		return true // its record may be gone
	}
	known := false
	for _, r := range w.records {
		if r.Action == v1alpha1.ActionPlan {
			continue
		}
		known = true
		if r.ended != "" && castsDoubt(r.ended) {
			return true
		}
	}
	if running := w.ledger.Running; running != "" {
		i := slices.IndexFunc(w.records, func(r record) bool { return r.name == running })
		if i < 0 || w.records[i].Action != v1alpha1.ActionPlan {
			return true
		}
	}
	// That no apply began to change anything is known for as long as the records say how each ended.
	return w.ledger.Unsettled && !known
}

// castsDoubt says whether a run that ended so may have made something that it did not report.
func castsDoubt(reason string) bool {
	return reason == v1alpha1.ReasonInterrupted || reason == v1alpha1.ReasonRunLost || reason == v1alpha1.ReasonProviderUnavailable
}
