// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/argo"
)

// register makes Argo CD able to deploy to the cluster, and sets the condition Registered. The pull request that adds the
// app-of-apps is not made yet, and the condition says so.
func (r *Reconciler) register(ctx context.Context, s *scope, acc access) error {
	if acc.builtIn {
		s.notRegistered(v1alpha1.ReasonAppOfAppsMissing, appOfAppsMissing("Argo CD reaches the management cluster by itself.", s.Name))
		return nil
	}
	if acc.destination == nil {
		s.notRegistered(v1alpha1.ReasonNotConnected, "Argo CD knows the cluster once Connected is True.")
		return nil
	}
	live, err := r.argo.Get(ctx, s.Cluster)
	if err == nil && live != nil && !live.DeletionTimestamp.IsZero() {
		// Somebody deletes it. What it holds is in hand, so it may go, and its going brings the next turn, which writes it again.
		return r.release(ctx, s, live)
	}
	if err == nil {
		_, err = r.argo.Ensure(ctx, s.Cluster, live, *acc.destination)
	}
	name := v1alpha1.ArgoSecretName(s.Name)
	switch {
	case errors.Is(err, argo.ErrTaken):
		s.notRegistered(v1alpha1.ReasonArgoSecretTaken, fmt.Sprintf(
			"Secret %s in namespace %s belongs to somebody else. Delete it, or register the cluster under another name.", name, v1alpha1.ArgoNamespace))
	case errors.Is(err, argo.ErrNoNamespace):
		s.notRegistered(v1alpha1.ReasonArgoNotInstalled, fmt.Sprintf(
			"Namespace %s does not exist on the management cluster, or the operator has no rights in it. Install Argo CD there, and apply deploy/rbac.", v1alpha1.ArgoNamespace))
	case err != nil:
		return err
	default:
		s.notRegistered(v1alpha1.ReasonAppOfAppsMissing, appOfAppsMissing("Argo CD knows the cluster by Secret "+name+".", s.Name))
	}
	return nil
}

func appOfAppsMissing(sofar, name string) string {
	return sofar + " The app-of-apps registry-" + name + " is not in the gitops repo: this version of Infrared opens no pull requests yet."
}
