// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim keeps things that may belong to one Cluster only, such as an API server, by an object each whose name is a hash
// of the thing. Creating that object is the lock: of two operators, or two Clusters at once, the API server lets one win, and no
// cache has a say.
package claim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
)

// The kinds of things that are claimed.
const (
	// Server is the address of an API server, as kubeconfig.ServerKey normalises it. Argo CD keys its clusters by it.
	Server = "server"
	// KubeSystem is the UID of namespace kube-system, which no two clusters share.
	KubeSystem = "kube-system"
)

// Claim is one thing that a Cluster wants for itself.
type Claim struct {
	// Kind is Server or KubeSystem.
	Kind string
	// Value names the thing within its kind.
	Value string
}

// Name of the object that holds the claim.
func (c Claim) Name() string {
	sum := sha256.Sum256([]byte(c.Kind + "\x00" + c.Value))
	return "claim-" + hex.EncodeToString(sum[:16])
}

// HeldError says that another Cluster has the claim.
type HeldError struct {
	// Holder is the name of that Cluster, and Org its org.
	Holder, Org string
}

func (e *HeldError) Error() string { return fmt.Sprintf("held by Cluster %s", e.Holder) }

// Store takes and drops claims.
type Store struct {
	// Client reads claims from a cache and writes them.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
}

// TakeAll takes all the claims, or none that can be known beforehand to be in vain: what one refusal would make useless is not
// written, so a Cluster that is refused again and again writes nothing.
func (s *Store) TakeAll(ctx context.Context, cluster *v1alpha1.Cluster, claims ...Claim) error {
	for _, c := range claims {
		key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: c.Name()}
		var cached corev1.ConfigMap
		if err := s.Client.Get(ctx, key, &cached); err != nil || owned.By(&cached, cluster) {
			continue // Take decides
		}
		if err := s.holder(ctx, &cached); err != nil {
			return err
		}
	}
	for _, c := range claims {
		if err := s.Take(ctx, cluster, c); err != nil {
			return err
		}
	}
	return nil
}

// Take takes the claim for the Cluster, or finds that it has it. It returns a *HeldError when another Cluster has it. A claim whose
// Cluster is gone is taken over.
func (s *Store) Take(ctx context.Context, cluster *v1alpha1.Cluster, c Claim) error {
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: c.Name()}
	var cached corev1.ConfigMap
	if err := s.Client.Get(ctx, key, &cached); err == nil && owned.By(&cached, cluster) {
		return s.refresh(ctx, cluster, c, &cached)
	}
	for range 3 {
		err := s.Client.Create(ctx, s.object(cluster, c))
		if err == nil {
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("claiming %s %q: %w", c.Kind, c.Value, err)
		}
		mine, err := s.settle(ctx, cluster, c, key)
		if mine || err != nil {
			return err
		}
	}
	return fmt.Errorf("claiming %s %q: it changed hands three times in a row", c.Kind, c.Value)
}

// refresh puts back what somebody took off a claim that we hold; seen is not to be changed, as it may be the cache's.
func (s *Store) refresh(ctx context.Context, cluster *v1alpha1.Cluster, c Claim, seen *corev1.ConfigMap) error {
	held := seen.DeepCopy()
	changed := owned.Refer(held, cluster)
	if held.Labels[v1alpha1.LabelClaim] != c.Kind {
		// Without it the claim is in no cache.
		held.Labels[v1alpha1.LabelClaim] = c.Kind
		changed = true
	}
	if !changed {
		return nil
	}
	err := s.Client.Patch(ctx, held, client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("marking %s as owned: %w", held.Name, err)
	}
	return nil
}

// settle looks at a claim that exists: it is the Cluster's own (true), another's (HeldError), or nobody's, and then dropped.
func (s *Store) settle(ctx context.Context, cluster *v1alpha1.Cluster, c Claim, key types.NamespacedName) (bool, error) {
	var held corev1.ConfigMap
	if err := s.Live.Get(ctx, key, &held); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if owned.By(&held, cluster) {
		return true, s.refresh(ctx, cluster, c, &held)
	}
	if err := s.holder(ctx, &held); err != nil {
		return false, err
	}
	err := s.Client.Delete(ctx, &held, client.Preconditions{UID: &held.UID, ResourceVersion: &held.ResourceVersion})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("dropping %s, whose Cluster is gone: %w", key, err)
	}
	return false, nil
}

// holder is a HeldError where the Cluster that a claim is marked for is there, and nil where the claim is nobody's.
func (s *Store) holder(ctx context.Context, held *corev1.ConfigMap) error {
	name := held.Labels[v1alpha1.LabelCluster]
	if name == "" {
		return nil
	}
	var holder v1alpha1.Cluster
	err := s.Live.Get(ctx, types.NamespacedName{Name: name}, &holder)
	if err == nil && owned.By(held, &holder) {
		return &HeldError{Holder: holder.Name, Org: holder.Spec.Org}
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("looking for the holder of claim %s: %w", held.Name, err)
	}
	return nil
}

// Keep drops every claim of the Cluster that is not among keep.
func (s *Store) Keep(ctx context.Context, cluster *v1alpha1.Cluster, keep ...Claim) error {
	wanted := map[string]bool{}
	for _, c := range keep {
		wanted[c.Name()] = true
	}
	var held corev1.ConfigMapList
	err := s.Client.List(ctx, &held, client.InNamespace(v1alpha1.Namespace),
		client.MatchingLabels(owned.Labels(cluster)), client.HasLabels{v1alpha1.LabelClaim})
	if err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range held.Items {
		if wanted[held.Items[i].Name] {
			continue
		}
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, &held.Items[i])); err != nil {
			return fmt.Errorf("dropping %s: %w", held.Items[i].Name, err)
		}
	}
	return nil
}

func (s *Store) object(cluster *v1alpha1.Cluster, c Claim) *corev1.ConfigMap {
	labels := owned.Labels(cluster)
	labels[v1alpha1.LabelClaim] = c.Kind
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       v1alpha1.Namespace,
			Name:            c.Name(),
			Labels:          labels,
			OwnerReferences: []metav1.OwnerReference{owned.Reference(cluster)},
		},
		Data: map[string]string{"kind": c.Kind, "value": c.Value},
	}
}
