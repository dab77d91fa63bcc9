// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/core/pipeline"
)

// disconnect makes Argo CD forget the cluster and drops every credential for it, Argo CD's first. One that somebody else keeps does not
// hold up the others: where the step is forced later, nothing of ours is left that only the operator could take off.
func disconnect(ctx context.Context, s *Scope) (pipeline.Outcome, error) {
	keys, err := secrets(ctx, s)
	if err != nil {
		return pipeline.Outcome{}, err
	}
	var waits []string
	for _, key := range keys {
		kept, err := owned.Remove(ctx, s.Client, s.Live, &corev1.Secret{}, key, s.Cluster)
		if apierrors.IsForbidden(err) {
			return pipeline.Wait(10*time.Second, v1alpha1.CauseYou, fmt.Sprintf(
				"The operator has no rights in namespace %s, and can't tell whether Secret %s is gone. Apply deploy/namespaces.yaml and deploy/rbac.", key.Namespace, key)), nil
		}
		if err != nil {
			return pipeline.Outcome{}, err
		}
		if kept != "" {
			waits = append(waits, fmt.Sprintf("Secret %s is kept by %s", key, kept))
		}
	}
	if len(waits) > 0 {
		return pipeline.Wait(10*time.Second, v1alpha1.CauseCluster, strings.Join(waits, "; ")+". Whoever put them there has to take them off."), nil
	}
	if err := s.Claims.Keep(ctx, s.Cluster); err != nil {
		return pipeline.Outcome{}, err
	}
	return pipeline.Done(parting(s.Cluster)), nil
}

// abandonDisconnect lists the Secrets that are still there.
func abandonDisconnect(ctx context.Context, s *Scope) ([]v1alpha1.Leftover, error) {
	var left []v1alpha1.Leftover
	keys, err := secrets(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		var secret corev1.Secret
		err := s.Live.Get(ctx, key, &secret)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return left, fmt.Errorf("looking at Secret %s: %w", key, err)
		}
		if owned.By(&secret, s.Cluster) {
			left = append(left, v1alpha1.Leftover{
				Kind: "Secret", ID: key.String(), Where: "management cluster",
				Why: "holds a credential for the cluster; kept by finalizers " + strings.Join(secret.Finalizers, ", "),
			})
		}
	}
	return left, nil
}

// secrets are those that may hold a credential for the cluster, in the order in which they go: Argo CD's, the one the Cluster names,
// and any other that is marked as its own. The cloud's credentials are none: Destroy needs them, and whoever made that Secret keeps it.
func secrets(ctx context.Context, s *Scope) ([]types.NamespacedName, error) {
	keys := []types.NamespacedName{{Namespace: v1alpha1.ArgoNamespace, Name: v1alpha1.ArgoSecretName(s.Cluster.Name)}}
	if s.Cluster.Spec.Connection != nil {
		keys = append(keys, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: s.Cluster.Spec.Connection.KubeconfigSecretRef.Name})
	}
	marked, err := owned.Secrets(ctx, s.Live, s.Cluster)
	if err != nil {
		return nil, err
	}
	for _, secret := range marked {
		key := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// parting is the last word on a cluster that goes on running, or that is destroyed next.
func parting(cluster *v1alpha1.Cluster) string {
	switch {
	case cluster.Spec.Template != nil:
		return "Argo CD has forgotten the cluster, and its kubeconfig is dropped."
	case cluster.Spec.InCluster:
		return "Infrared has forgotten this name of the management cluster; the management cluster itself is untouched."
	case cluster.Status.Identity == nil:
		return "Infrared never reached the cluster, and has dropped what it held for it. A Secret that held no kubeconfig under the key named was never taken over, and stays."
	case cluster.Status.Identity.ServiceAccount == "":
		return "Argo CD has forgotten the cluster and its kubeconfig is dropped; the cluster goes on running. Withdraw on it the credential that the kubeconfig held."
	}
	namespace, name, _ := strings.Cut(cluster.Status.Identity.ServiceAccount, "/")
	return fmt.Sprintf("Argo CD has forgotten the cluster and its kubeconfig is dropped; the cluster goes on running. Withdraw the token on it: kubectl -n %s delete serviceaccount %s", namespace, name)
}
