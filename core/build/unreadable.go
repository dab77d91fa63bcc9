// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

// unreadable is something of ours that holds what we can't read, and that no trying again mends.
type unreadable struct{ why string }

// Error says what can't be read, and the way out.
func (u unreadable) Error() string { return u.why }

// broken is what a run stops at when something can't be read; nil: err is none of that kind.
func broken(err error) *stop {
	var ours unreadable
	if !errors.As(err, &ours) {
		return nil
	}
	s := failed(v1alpha1.ReasonStartRefused, "%s", ours.why)
	s.after = lookAgain
	return s
}

func ledgerBroken(c *v1alpha1.Cluster, err error) string {
	name := namesOf(c).Ledger()
	return fmt.Sprintf("ConfigMap %[1]s/%[2]s, the ledger of what runs have made, can't be read, so no run is begun: %[3]v. Restore it from a backup. Where there is none, empty it: kubectl -n %[1]s patch configmap %[2]s --type=merge -p '{\"binaryData\":null}'; what is in OpenTofu's state is not lost by that, and the next run looks for all else.",
		v1alpha1.Namespace, name, err)
}

func orderBroken(r record, err error) string {
	return fmt.Sprintf("ConfigMap %[1]s/%[2]s, the record of an apply that a destroy goes by, can't be read: %[3]v. Restore it from a backup, or delete it: kubectl -n %[1]s delete configmap %[2]s; the destroy then goes by the apply before it, or by the Cluster's spec.",
		v1alpha1.Namespace, r.name, err)
}

// stuck is the turn of a Cluster whose ledger can't be read. What was built stays reachable: the outputs are in a record as well.
func (b *Builder) stuck(ctx context.Context, c *v1alpha1.Cluster, w *world, want identity, s *stop) (Turn, error) {
	t := Turn{Run: stopped(c, want, s), Plan: c.Status.Plan.DeepCopy(), Built: c.Status.Built.DeepCopy(), After: s.after}
	if t.Built == nil {
		return t, nil
	}
	var err error
	t.Applied, err = b.newestOutputs(ctx, w)
	return t, err
}

// newestOutputs is the outcome of the newest apply that succeeded, by its record; nil: none is kept.
func (b *Builder) newestOutputs(ctx context.Context, w *world) (*run.Outcome, error) {
	for _, r := range w.records {
		if r.Action != v1alpha1.ActionApply || r.ended != succeeded {
			continue
		}
		told, err := b.read(ctx, r)
		if err != nil {
			return nil, err
		}
		if told.outcome != nil {
			told.outcome.Changes = nil
			return told.outcome, nil
		}
	}
	return nil, nil
}
