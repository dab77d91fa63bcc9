// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// objects reads what pods refer to, each by its name.
type objects struct {
	client kubernetes.Interface
	tokens *tokens
}

// Secret reads a Secret.
func (o objects) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return o.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// ConfigMap reads a ConfigMap.
func (o objects) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return o.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Claim finds the folder behind a claim: that of a hostPath or local volume. A
// hostPath that is absent is made.
func (o objects) Claim(ctx context.Context, namespace, name string) (string, error) {
	claim, err := o.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if claim.Status.Phase != corev1.ClaimBound {
		return "", fmt.Errorf("PersistentVolumeClaim %q is not bound yet", name)
	}
	volume, err := o.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	switch {
	case volume.Spec.HostPath != nil:
		path := volume.Spec.HostPath.Path
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			return "", fmt.Errorf("making the folder of PersistentVolume %q: %w", volume.Name, err)
		}
		// As open as a fresh emptyDir: nobody knows yet who will write to it.
		return path, os.Chmod(path, 0o777)
	case volume.Spec.Local != nil:
		return volume.Spec.Local.Path, nil
	}
	return "", fmt.Errorf("PersistentVolume %q is no folder: this node knows hostPath and local only", volume.Name)
}

// Token gives a token of the pod's ServiceAccount.
func (o objects) Token(ctx context.Context, pod *corev1.Pod, p *corev1.ServiceAccountTokenProjection) (string, error) {
	return o.tokens.get(ctx, pod, p)
}

// tokens keeps ServiceAccount tokens until it is time for new ones. They are
// never written anywhere but into the volumes.
type tokens struct {
	client kubernetes.Interface
	now    func() time.Time
	mu     sync.Mutex
	kept   map[tokenKey]keptToken
}

type tokenKey struct {
	pod      types.UID
	audience string
	seconds  int64
}

type keptToken struct {
	token string
	renew time.Time
}

func newTokens(client kubernetes.Interface, now func() time.Time) *tokens {
	return &tokens{client: client, now: now, kept: map[tokenKey]keptToken{}}
}

func (t *tokens) get(ctx context.Context, pod *corev1.Pod, p *corev1.ServiceAccountTokenProjection) (string, error) {
	const hour = int64(3600)
	seconds := hour
	if p.ExpirationSeconds != nil {
		seconds = *p.ExpirationSeconds
	}
	key := tokenKey{pod.UID, p.Audience, seconds}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if k, ok := t.kept[key]; ok && now.Before(k.renew) {
		return k.token, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if p.Audience != "" {
		request.Spec.Audiences = []string{p.Audience}
	}
	answer, err := t.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("asking for a token of ServiceAccount %q: %w", pod.Spec.ServiceAccountName, err)
	}
	// As the kubelet: at four fifths of its life, and at least once a day.
	life := answer.Status.ExpirationTimestamp.Sub(now)
	t.kept[key] = keptToken{answer.Status.Token, now.Add(min(life*4/5, 24*time.Hour))}
	return answer.Status.Token, nil
}

// drop forgets the tokens of a pod.
func (t *tokens) drop(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.kept {
		if key.pod == uid {
			delete(t.kept, key)
		}
	}
}
