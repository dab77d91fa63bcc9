// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
)

// Destroy takes away all that was built for a Cluster that is being deleted, as far as it can get now. again says that a person has
// asked to run a destroy again that failed; the caller withdraws it as soon as Run is another attempt.
//
// It goes by the newest apply that changed something and not by the Cluster, which may have been changed since.
func (b *Builder) Destroy(ctx context.Context, c *v1alpha1.Cluster, again bool) (Teardown, error) {
	want := wantedFor(c, v1alpha1.ActionDestroy)
	w, err := b.look(ctx, c)
	if stands := broken(err); stands != nil {
		t, err := b.stuck(ctx, c, w, want, stands)
		return Teardown{Turn: t}, err
	}
	if err != nil {
		return Teardown{}, err
	}
	f, err := b.follow(ctx, c, w, want)
	if err != nil || f.goes {
		return Teardown{Turn: f.Turn}, err
	}
	f.Plan = nil
	if c.Status.Plan != nil {
		if err := b.emptyPlan(ctx, c); err != nil {
			return Teardown{Turn: f.Turn}, err
		}
	}
	destroyed := w.newest() != nil && w.newest().Action == v1alpha1.ActionDestroy
	switch {
	case destroyed && f.Run.Phase == v1alpha1.RunSucceeded:
		f.Built, f.Applied = nil, nil
		return Teardown{Turn: f.Turn, Done: true}, nil
	case destroyed && !again:
		return Teardown{Turn: f.Turn, Failed: true}, nil
	case !destroyed:
		nothing, err := b.nothing(ctx, c, w)
		if err != nil {
			return Teardown{Turn: f.Turn}, err
		}
		if nothing {
			return Teardown{Turn: f.Turn, Done: true, Nothing: true}, nil
		}
	}
	t, err := b.begin(ctx, c, w, f.Turn, want)
	return Teardown{Turn: t}, err
}

// nothing says that no run can have made anything: neither state nor ledger has anything, and every apply has told how it ended. A plan
// makes nothing, however it ended.
func (b *Builder) nothing(ctx context.Context, c *v1alpha1.Cluster, w *world) (bool, error) {
	l := w.ledger
	if len(l.Made) > 0 || len(l.LeftBehind) > 0 || l.Applied != nil || l.Order != nil || c.Status.Built != nil || w.doubtful(c) {
		return false, nil
	}
	// Where state and ledger are lost, the record still tells that there was something.
	if apply := w.newestOf(v1alpha1.ActionApply); apply != nil && apply.ended == succeeded {
		return false, nil
	}
	var state corev1.Secret
	switch err := b.Live.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: namesOf(c).State()}, &state); {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the state of Cluster %s: %w", c.Name, err)
	}
	// Whatever the Secret holds is the state, whole or in parts.
	return !owned.By(&state, c) || len(state.Data) == 0, nil
}
