// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
)

// credentials says what is missing of the credentials of a run; nil: nothing. A watch of Secrets tells when they come.
func (b *Builder) credentials(ctx context.Context, c *v1alpha1.Cluster, found Found) (*stop, error) {
	account := provision(c).CloudAccount
	switch {
	case account != "" && b.Accounts == nil:
		return waits("spec.provision.cloudAccount: cloud account %s does not exist.", account), nil
	case account != "":
		why, err := b.Accounts.Ready(ctx, c)
		if err != nil || why == "" {
			return nil, err
		}
		return waits("spec.provision.cloudAccount: %s", why), nil
	case c.Spec.Org != "":
		return failed(v1alpha1.ReasonInvalidSpec, "spec.provision.cloudAccount: name a cloud account of org %s. Credentials made by hand are for the platform's own clusters.", c.Spec.Org), nil
	}
	return b.handMade(ctx, c, found)
}

func waits(format string, args ...any) *stop {
	return &stop{phase: v1alpha1.RunWaitingForCredentials, reason: v1alpha1.ReasonWaitingForCredentials, message: fmt.Sprintf(format, args...)}
}

// handMade judges the Secret that a person makes, and marks it by labels alone once it is good for a run: it stays the person's, and a later
// Cluster of the name is not built in the same account by accident. Its values are looked at for being there, and go nowhere.
func (b *Builder) handMade(ctx context.Context, c *v1alpha1.Cluster, found Found) (*stop, error) {
	needs := slices.Clone(found.Facts.Credentials)
	slices.Sort(needs)
	name := v1alpha1.CredentialsSecretName(c.Name)
	command := fmt.Sprintf("kubectl -n %s create secret generic %s --from-env-file=credentials.env", v1alpha1.Namespace, name)
	if len(needs) > 0 {
		command += ", where credentials.env has a line NAME=value for each of " + strings.Join(needs, ", ")
	}
	absent := waits("Waits for credentials for the cloud. Make them: %s.", command)
	var secret corev1.Secret
	switch err := b.Live.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: name}, &secret); {
	case apierrors.IsNotFound(err):
		return absent, nil
	case err != nil:
		return nil, fmt.Errorf("reading the credentials of Cluster %s: %w", c.Name, err)
	case !secret.DeletionTimestamp.IsZero():
		return absent, nil
	}
	if owned.Others(&secret, c) {
		return waits("Secret %s/%s belongs to another Cluster, or to an earlier one of this name. Delete it, then make it anew: %s.", v1alpha1.Namespace, name, command), nil
	}
	missing := slices.DeleteFunc(needs, func(key string) bool { return len(secret.Data[key]) > 0 })
	if len(missing) > 0 {
		return waits("Secret %s/%s lacks %s. Delete it, then make it anew: %s.", v1alpha1.Namespace, name, strings.Join(missing, ", "), command), nil
	}
	before := secret.DeepCopy()
	if !owned.Label(&secret, c) {
		return nil, nil
	}
	// The lock keeps the mark off another Secret that was made under the name meanwhile.
	err := b.Client.Patch(ctx, &secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return absent, nil
	}
	if err != nil {
		return nil, fmt.Errorf("marking the credentials of Cluster %s: %w", c.Name, err)
	}
	return nil, nil
}
