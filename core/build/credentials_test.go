// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
)

// TestCredentialsMarked is what a run's start leaves on the Secret that a person made.
func TestCredentialsMarked(t *testing.T) {
	t.Parallel()
	s := newSite(t, "marked")
	s.begin()
	var secret corev1.Secret
	if err := env.Client.Get(t.Context(), types.NamespacedName{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(s.name)}, &secret); err != nil {
		t.Fatal(err)
	}
	if !owned.By(&secret, s.cluster()) || len(secret.OwnerReferences)+len(secret.Finalizers) > 0 || len(secret.Data) != 2 {
		t.Errorf("it is marked, so that a later Cluster of the name does not take it, and stays the person's: %+v", secret.ObjectMeta)
	}
	if left, err := owned.Secrets(t.Context(), env.Client, s.cluster()); err != nil || len(left) > 0 {
		t.Errorf("a deletion would drop it before the destroy that needs it: %v %v", left, err)
	}
}
