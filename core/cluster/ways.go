// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/argo"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// refusal is why a cluster can't be connected or registered, for its condition. Other errors are the management cluster's, and are
// tried again.
type refusal struct {
	reason, message string
}

func (r *refusal) Error() string { return r.message }

// ways are what a Cluster offers to connect with: the destination that its kubeconfig Secret gives, or why there is none, and the
// one that connected last.
type ways struct {
	offered *argo.Destination
	refused *refusal
	stored  *argo.Destination
	// claims are what the two of them hold.
	claims []claim.Claim
}

// ways reads what the Cluster offers.
func (r *Reconciler) ways(ctx context.Context, s *scope) (*ways, error) {
	src, err := r.storedWay(ctx, s)
	if err != nil {
		return nil, err
	}
	if src.offered, err = r.offer(ctx, s); err != nil && !errors.As(err, &src.refused) {
		return nil, err
	}
	return src, nil
}

// storedWay reads what connected last.
func (r *Reconciler) storedWay(ctx context.Context, s *scope) (*ways, error) {
	src := &ways{}
	live, err := r.argo.Get(ctx, s.Cluster)
	if err != nil && !errors.Is(err, argo.ErrTaken) && !errors.Is(err, argo.ErrNoNamespace) {
		return nil, err // the other two are told by the phase register
	}
	if live != nil {
		// A Secret that somebody broke holds nothing worth keeping; it is written again from the kubeconfig.
		if d, err := argo.Read(live); err == nil {
			src.stored = &d
			src.claims = serverClaims(d)
		}
	}
	return src, nil
}

// offer is the destination that the kubeconfig Secret gives. It adopts the Secret at first sight.
func (r *Reconciler) offer(ctx context.Context, s *scope) (*argo.Destination, error) {
	ref := s.kubeconfigRef()
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: ref.Name}
	var secret corev1.Secret
	if err := r.Live.Get(ctx, key, &secret); apierrors.IsNotFound(err) {
		return nil, missing(ref, "Secret %s does not exist in namespace %s.", ref.Name, v1alpha1.Namespace)
	} else if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	if !secret.DeletionTimestamp.IsZero() {
		// Somebody deletes it, perhaps to make it anew. What connected last is in Argo CD's Secret.
		if err := r.release(ctx, s, &secret); err != nil {
			return nil, err
		}
		return nil, missing(ref, "Secret %s in namespace %s was deleted.", ref.Name, v1alpha1.Namespace)
	}
	text, ok := secret.Data[ref.Key]
	if !ok {
		return nil, &refusal{v1alpha1.ReasonKubeconfigMissing, fmt.Sprintf(
			"Secret %s in namespace %s has no key %s. Name the key it has in spec.connection.kubeconfigSecretRef.key, or put the kubeconfig under this one.",
			ref.Name, v1alpha1.Namespace, ref.Key)}
	}
	if err := r.takeOver(ctx, s, &secret); err != nil {
		return nil, err
	}
	if err := r.handBack(ctx, s, ref.Name); err != nil {
		return nil, err
	}
	return r.judge(s, text)
}

// kubeconfigRef names the Secret with the kubeconfig: the person's, or the one that Infrared keeps for a cluster that it built.
func (s *scope) kubeconfigRef() v1alpha1.SecretKeyRef {
	if s.Spec.Connection != nil {
		return s.Spec.Connection.KubeconfigSecretRef
	}
	return v1alpha1.SecretKeyRef{Name: v1alpha1.KubeconfigSecretName(s.Name), Key: v1alpha1.KubeconfigKey}
}

// handBack lets go of the Secrets that the Cluster named before, so that none keeps a finalizer that nobody will take off.
func (r *Reconciler) handBack(ctx context.Context, s *scope, named string) error {
	marked, err := owned.Secrets(ctx, r.Cached, s.Cluster)
	if err != nil {
		return err
	}
	for i := range marked {
		if marked[i].Name == named {
			continue
		}
		marked[i].SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		if err := owned.HandBack(ctx, r.Client, &marked[i], s.Cluster); err != nil {
			return err
		}
	}
	return nil
}

// judge reads a kubeconfig and works out where Argo CD finds the cluster.
func (r *Reconciler) judge(s *scope, text []byte) (*argo.Destination, error) {
	config, err := kubeconfig.Reader{Now: r.Clock.Now}.Read(text)
	if err != nil {
		return nil, &refusal{v1alpha1.ReasonKubeconfigInvalid, fmt.Sprintf("The kubeconfig in Secret %s is refused: %s", s.kubeconfigRef().Name, err)}
	}
	d := &argo.Destination{Config: *config, Server: config.Server}
	if s.Spec.Server != "" {
		if d.Server, err = kubeconfig.CheckServer("spec.server", s.Spec.Server); err != nil {
			return nil, &refusal{v1alpha1.ReasonAddressRefused, err.Error()}
		}
	}
	if builtIn(d.Server) {
		return nil, &refusal{v1alpha1.ReasonAddressRefused, fmt.Sprintf(
			"%s is Argo CD's own destination for the management cluster, whose credentials a Secret would override. Set spec.inCluster: true instead of spec.connection.", d.Server)}
	}
	return d, nil
}

// builtIn reports whether an address is the one that Argo CD has for the cluster it runs on, in any spelling.
func builtIn(server string) bool {
	host, found := strings.CutSuffix(kubeconfig.ServerKey(server), ":443")
	return found && slices.Contains([]string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}, host)
}

// release lets a Secret of the Cluster's go that somebody deletes, unless it is the Cluster that is deleted: a foreground deletion
// takes the dependents along, and what is in the cache of the Cluster may be older than what was just seen of the Secret.
func (r *Reconciler) release(ctx context.Context, s *scope, secret *corev1.Secret) error {
	if !owned.By(secret, s.Cluster) {
		return nil
	}
	var now v1alpha1.Cluster
	if err := r.Live.Get(ctx, types.NamespacedName{Name: s.Name}, &now); err != nil || !now.DeletionTimestamp.IsZero() {
		return client.IgnoreNotFound(err)
	}
	return owned.Release(ctx, r.Client, secret)
}

// takeOver marks the kubeconfig Secret as the Cluster's. One that another Cluster owns is refused.
func (r *Reconciler) takeOver(ctx context.Context, s *scope, secret *corev1.Secret) error {
	if other := owned.OtherCluster(secret, s.Cluster); other != "" && other != s.Name {
		var holder v1alpha1.Cluster
		err := r.Live.Get(ctx, types.NamespacedName{Name: other}, &holder)
		if err == nil {
			return &refusal{v1alpha1.ReasonKubeconfigTaken, fmt.Sprintf(
				"Secret %s belongs to %s. Put a kubeconfig for this Cluster in a Secret of its own.", secret.Name, s.nameFor(&holder))}
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("looking for the owner of Secret %s: %w", secret.Name, err)
		}
	}
	before := secret.DeepCopy()
	if !owned.Mark(secret, s.Cluster) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, secret, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("taking over Secret %s: %w", secret.Name, err)
	}
	return nil
}

// take claims things for the Cluster, all of them or none.
func (r *Reconciler) take(ctx context.Context, s *scope, claims ...claim.Claim) error {
	err := r.claims.TakeAll(ctx, s.Cluster, claims...)
	var held *claim.HeldError
	if !errors.As(err, &held) {
		return err
	}
	holder := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Org: held.Org}}
	holder.Name = held.Holder
	message := fmt.Sprintf("This API server is registered already, as %s. Use that one, or delete it first.", s.nameFor(holder))
	if s.Spec.Org != "" && held.Org != s.Spec.Org {
		message = "This API server is registered already, as another Cluster. Ask a platform admin who uses it."
	} else if held.Holder == r.ManagementName {
		message = "This is the API server of the management cluster. Set spec.inCluster: true instead of spec.connection to register it under another name."
	}
	return &refusal{v1alpha1.ReasonAlreadyRegistered, message}
}

// nameFor is how another Cluster is named to whoever reads this one's status: an org is not told of another's cluster.
func (s *scope) nameFor(other *v1alpha1.Cluster) string {
	if s.Spec.Org != "" && other.Spec.Org != s.Spec.Org {
		return "another Cluster"
	}
	return "Cluster " + other.Name
}

// serverClaims are the addresses that the operator and Argo CD use. Argo CD keys its clusters by address, and mixes the credentials
// of two with one.
func serverClaims(d argo.Destination) []claim.Claim {
	claims := []claim.Claim{{Kind: claim.Server, Value: kubeconfig.ServerKey(d.Server)}}
	if own := kubeconfig.ServerKey(d.Config.Server); own != claims[0].Value {
		claims = append(claims, claim.Claim{Kind: claim.Server, Value: own})
	}
	return claims
}

// missing is the refusal for a kubeconfig that isn't there, with the command that makes it.
func missing(ref v1alpha1.SecretKeyRef, format string, args ...any) *refusal {
	return &refusal{v1alpha1.ReasonKubeconfigMissing, fmt.Sprintf(format, args...) + fmt.Sprintf(
		" Make it: kubectl -n %s create secret generic %s --from-file=%s=<your kubeconfig>", v1alpha1.Namespace, ref.Name, ref.Key)}
}
