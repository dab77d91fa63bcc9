// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

const (
	// tokenLife is how long a token of a built cluster is asked to last. What the cluster answers counts.
	tokenLife = 7 * 24 * time.Hour
	// leastBetween is how soon a token is made after another, whatever the cluster says of it.
	leastBetween = 5 * time.Minute
	// originKey is the key, in the kubeconfig Secret of a built cluster, of what is known of the kubeconfig beside it.
	originKey = "origin.json"
)

// held is the kubeconfig of a built cluster, as its Secret has it.
type held struct {
	secret *corev1.Secret
	// sum is the kubeconfig's SHA-256 in hex; empty where the Secret has none.
	sum string
	// origin is how the kubeconfig that Infrared made last was made; zero where it made none.
	origin origin
}

// origin is how a kubeconfig was made. It is in the Secret beside the kubeconfig, so that the two are never of different times.
type origin struct {
	// Sum is the SHA-256 of the kubeconfig that was made. A person may have put another there since.
	Sum string `json:"sha256"`
	// MadeAt and ExpiresAt are the token's; ExpiresAt is zero where nothing tells it.
	MadeAt    time.Time `json:"madeAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// Outputs is the SHA-256 of the module's outputs by which the cluster was found.
	Outputs string `json:"outputs"`
	// UID is that of the namespace kube-system of the cluster that was found by them.
	UID string `json:"kubeSystemUID,omitempty"`
}

// ours says whether the kubeconfig is the one that Infrared made last.
func (h *held) ours() bool { return h.sum != "" && h.sum == h.origin.Sum }

// holds reads the Secret that has the kubeconfig of a built cluster. It is nil where there is none, and refused where it is somebody
// else's. One that is being deleted is let go.
func (r *Reconciler) holds(ctx context.Context, s *scope) (*held, error) {
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: v1alpha1.KubeconfigSecretName(s.Name)}
	var secret corev1.Secret
	switch err := r.Live.Get(ctx, key, &secret); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", key, err)
	case !owned.By(&secret, s.Cluster):
		return nil, &refusal{v1alpha1.ReasonKubeconfigTaken, fmt.Sprintf(
			"Secret %s in namespace %s has the name under which Infrared keeps the kubeconfig of this cluster, and is somebody else's. Keep what it holds under another name, and delete it; Infrared then makes its own.",
			key.Name, key.Namespace)}
	case !secret.DeletionTimestamp.IsZero():
		return nil, r.release(ctx, s, &secret)
	}
	h := &held{secret: &secret}
	if text := secret.Data[v1alpha1.KubeconfigKey]; len(text) > 0 {
		h.sum = digest(text)
	}
	if err := json.Unmarshal(secret.Data[originKey], &h.origin); err != nil {
		h.origin = origin{} // as good as none: somebody wrote into it
	}
	return h, nil
}

// life is when the credential in use was made and when it ends, as far as that is known. A person's own tells its end itself.
func (h *held) life(now time.Time) (made, end time.Time) {
	if h.ours() {
		return h.origin.MadeAt, h.origin.ExpiresAt
	}
	config, err := kubeconfig.Reader{Now: func() time.Time { return now }}.Read(h.secret.Data[v1alpha1.KubeconfigKey])
	if err != nil {
		return time.Time{}, time.Time{}
	}
	return time.Time{}, connect.EndpointOf(*config).Expiry
}

// renewAt is when the credential in use is to be renewed: at half of its life. When a person's own was made is not known; it is taken to
// last as long as ours do. Zero: never.
func renewAt(made, end time.Time) time.Time {
	switch {
	case end.IsZero():
		return time.Time{}
	case made.IsZero():
		return end.Add(-tokenLife / 2)
	}
	half := made.Add(end.Sub(made) / 2)
	if soonest := made.Add(leastBetween); half.Before(soonest) {
		return soonest
	}
	return half
}

// keep writes a kubeconfig that was made into the cluster's Secret. It never writes over one that came there meanwhile.
func (r *Reconciler) keep(ctx context.Context, s *scope, h *held, made madeWay, outputs string) error {
	config := configOf(made.endpoint)
	text := kubeconfig.Write(config)
	from := origin{
		Sum: digest(text), MadeAt: r.Clock.Now().UTC().Truncate(time.Second), Outputs: outputs, UID: made.uid,
		ExpiresAt: made.endpoint.Expiry.UTC().Truncate(time.Second),
	}
	if made.endpoint.Expiry.IsZero() {
		from.ExpiresAt = connect.EndpointOf(config).Expiry
	}
	if made.renewed {
		from.UID = h.origin.UID // a renewal finds the cluster by the way in, and is no proof of which one the outputs mean
	}
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("writing down how the kubeconfig was made: %w", err)
	}
	return r.writeHeld(ctx, s, h, map[string][]byte{v1alpha1.KubeconfigKey: text, originKey: data})
}

func (r *Reconciler) writeHeld(ctx context.Context, s *scope, h *held, data map[string][]byte) error {
	if h == nil {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.KubeconfigSecretName(s.Name)},
			Type:       corev1.SecretTypeOpaque, Data: data,
		}
		owned.Mark(secret, s.Cluster)
		if err := r.Client.Create(ctx, secret, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
			return asConflict(s.Name, fmt.Errorf("making Secret %s: %w", secret.Name, err))
		}
		return nil
	}
	before := h.secret.DeepCopy()
	h.secret.Data = data
	owned.Mark(h.secret, s.Cluster)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, h.secret, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing Secret %s: %w", h.secret.Name, err)
	}
	return nil
}

// asConflict turns the error of a create that came second into a conflict, after which the reconciler begins anew with what is there.
func asConflict(name string, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return apierrors.NewConflict(corev1.Resource("secrets"), name, err)
	}
	return err
}

// configOf is a plugin's way in as a kubeconfig.
func configOf(e provider.Endpoint) kubeconfig.Config {
	return kubeconfig.Config{
		Server: e.Server, TLSServerName: e.TLSServerName, CAData: e.CA,
		Token: e.Token, ClientCertData: e.ClientCertificate, ClientKeyData: e.ClientKey,
	}
}

// outputsSum names a module's outputs.
func outputsSum(outputs map[string]json.RawMessage) string {
	text, err := json.Marshal(outputs)
	if err != nil {
		return "" // they came out of JSON
	}
	return digest(text)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// secondsOrNil is a time as the API stores it; nil for none.
func secondsOrNil(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return v1alpha1.Seconds(t)
}
