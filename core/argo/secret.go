// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argo keeps what Argo CD needs on the management cluster to deploy to a Cluster.
//
// The cluster Secret cluster-<name> in namespace argocd is also Infrared's own memory: it holds the last kubeconfig that
// connected, so that a bad replacement never costs the connection.
package argo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// secretTypeLabel marks a Secret as one of Argo CD's clusters.
const secretTypeLabel = "argocd.argoproj.io/secret-type"

// ErrTaken says that a Secret of that name exists and is not the Cluster's.
var ErrTaken = errors.New("the Secret belongs to somebody else")

// ErrNoNamespace says that Argo CD's namespace does not exist. It takes the operator's rights in it along when it goes, so to the
// operator it is the same as being refused there.
var ErrNoNamespace = errors.New("namespace " + v1alpha1.ArgoNamespace + " does not exist, or the operator has no rights in it")

// Destination is how Argo CD reaches a cluster.
type Destination struct {
	// Config is what the operator connects with.
	Config kubeconfig.Config
	// Server is the address Argo CD uses; it may differ from Config.Server.
	Server string
}

// clusterConfig is the JSON under the key config, as Argo CD reads it (its ClusterConfig). Nothing that runs a program and no
// proxy has a field here.
type clusterConfig struct {
	BearerToken string    `json:"bearerToken,omitempty"`
	TLS         tlsConfig `json:"tlsClientConfig"`
}

type tlsConfig struct {
	Insecure   bool   `json:"insecure"`
	ServerName string `json:"serverName,omitempty"`
	CAData     []byte `json:"caData,omitempty"`
	CertData   []byte `json:"certData,omitempty"`
	KeyData    []byte `json:"keyData,omitempty"`
}

// Secrets reads and writes the cluster Secrets.
type Secrets struct {
	// Client writes.
	Client client.Client
	// Live reads past the cache, which holds no Secret's content.
	Live client.Reader
}

// Get returns the Cluster's Secret, or nil where there is none. It returns ErrTaken for one that is not the Cluster's.
func (s *Secrets) Get(ctx context.Context, cluster *v1alpha1.Cluster) (*corev1.Secret, error) {
	key := types.NamespacedName{Namespace: v1alpha1.ArgoNamespace, Name: v1alpha1.ArgoSecretName(cluster.Name)}
	var secret corev1.Secret
	switch err := s.Live.Get(ctx, key, &secret); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		return nil, ErrNoNamespace
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s: %w", key, err)
	case owned.By(&secret, cluster) || written(&secret, cluster):
		return &secret, nil
	}
	return nil, ErrTaken
}

// written recognises a Secret off which somebody took every mark of ours: it is what we applied for this Cluster, which was
// connected before, and no other Cluster's.
func written(secret *corev1.Secret, cluster *v1alpha1.Cluster) bool {
	if cluster.Status.Identity == nil || owned.OtherCluster(secret, cluster) != "" {
		return false
	}
	return slices.ContainsFunc(secret.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == v1alpha1.FieldManager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

// Read is the way back: the destination that a Secret of ours holds.
func Read(secret *corev1.Secret) (Destination, error) {
	var config clusterConfig
	if err := json.Unmarshal(secret.Data["config"], &config); err != nil {
		// The cause may quote the text, which is a credential.
		return Destination{}, fmt.Errorf("the key config of Secret %s/%s is not the JSON that was written there", secret.Namespace, secret.Name)
	}
	server := string(secret.Data["server"])
	d := Destination{Server: server, Config: kubeconfig.Config{
		Server:         server,
		TLSServerName:  config.TLS.ServerName,
		CAData:         config.TLS.CAData,
		Token:          kubeconfig.NewSecret(config.BearerToken),
		ClientCertData: config.TLS.CertData,
		ClientKeyData:  kubeconfig.NewSecret(string(config.TLS.KeyData)),
	}}
	if own := secret.Annotations[v1alpha1.AnnotationServer]; own != "" {
		d.Config.Server = own
	}
	return d, nil
}

// Ensure makes the Cluster's Secret say d, and reports whether it had to write. live is what Get returned. Fields that others put
// on the Secret, such as Argo CD's project or shard, stay.
func (s *Secrets) Ensure(ctx context.Context, cluster *v1alpha1.Cluster, live *corev1.Secret, d Destination) (bool, error) {
	data, err := render(cluster, d)
	if err != nil {
		return false, err
	}
	annotation := ""
	if d.Server != d.Config.Server {
		annotation = d.Config.Server
	}
	if live != nil && upToDate(live, cluster, data, annotation) {
		return false, nil
	}
	labels := owned.Labels(cluster)
	labels[secretTypeLabel] = "cluster"
	ref := owned.Reference(cluster)
	secret := corev1ac.Secret(v1alpha1.ArgoSecretName(cluster.Name), v1alpha1.ArgoNamespace).
		WithLabels(labels).
		WithFinalizers(v1alpha1.FinalizerDisconnect).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(ref.APIVersion).WithKind(ref.Kind).WithName(ref.Name).WithUID(ref.UID)).
		WithType(corev1.SecretTypeOpaque).
		WithData(data)
	if annotation != "" {
		secret.WithAnnotations(map[string]string{v1alpha1.AnnotationServer: annotation})
	}
	err = s.Client.Apply(ctx, secret, client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return false, ErrNoNamespace
	}
	if err != nil {
		return false, fmt.Errorf("writing Secret %s/%s: %w", v1alpha1.ArgoNamespace, *secret.Name, err)
	}
	return true, nil
}

func render(cluster *v1alpha1.Cluster, d Destination) (map[string][]byte, error) {
	config, err := json.Marshal(clusterConfig{
		BearerToken: d.Config.Token.Reveal(),
		TLS: tlsConfig{
			ServerName: d.Config.TLSServerName,
			CAData:     d.Config.CAData,
			CertData:   d.Config.ClientCertData,
			KeyData:    []byte(d.Config.ClientKeyData.Reveal()),
		},
	})
	if err != nil {
		return nil, errors.New("the connection can't be written as JSON")
	}
	return map[string][]byte{
		"name":   []byte(cluster.Name),
		"server": []byte(d.Server),
		"config": config,
	}, nil
}

func upToDate(live *corev1.Secret, cluster *v1alpha1.Cluster, data map[string][]byte, annotation string) bool {
	same := maps.EqualFunc(data, pick(live.Data, data), bytes.Equal)
	marked := !owned.Mark(live.DeepCopy(), cluster)
	return same && marked && live.Labels[secretTypeLabel] == "cluster" && live.Annotations[v1alpha1.AnnotationServer] == annotation
}

// pick is those entries of all whose keys are in like.
func pick(all, like map[string][]byte) map[string][]byte {
	picked := map[string][]byte{}
	for key := range like {
		if value, ok := all[key]; ok {
			picked[key] = value
		}
	}
	return picked
}
