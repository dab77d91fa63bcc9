// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// makeManagement makes the one Cluster of type management. Its name is then taken like any other's.
func (r *Reconciler) makeManagement(ctx context.Context) error {
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: r.ManagementName},
		Spec:       v1alpha1.ClusterSpec{Type: v1alpha1.Management},
	}
	err := r.Client.Create(ctx, cluster, client.FieldOwner(v1alpha1.FieldManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making the management Cluster %s: %w", r.ManagementName, err)
	}
	return nil
}

// SelfFrom turns the operator's own client configuration into what a look needs. Files are read at each call, since the token of a
// pod is renewed on disk.
func SelfFrom(config *rest.Config) func() (*kubeconfig.Config, error) {
	return func() (*kubeconfig.Config, error) {
		server, err := kubeconfig.CheckServer("the management cluster's address", config.Host)
		if err != nil {
			return nil, err
		}
		self := &kubeconfig.Config{Server: server, TLSServerName: config.ServerName, Token: kubeconfig.NewSecret(config.BearerToken)}
		files := []struct {
			path string
			data []byte
			keep func([]byte)
		}{
			{config.CAFile, config.CAData, func(b []byte) { self.CAData = b }},
			{config.CertFile, config.CertData, func(b []byte) { self.ClientCertData = b }},
			{config.KeyFile, config.KeyData, func(b []byte) { self.ClientKeyData = kubeconfig.NewSecret(string(b)) }},
			{config.BearerTokenFile, nil, func(b []byte) { self.Token = kubeconfig.NewSecret(strings.TrimSpace(string(b))) }},
		}
		for _, f := range files {
			switch {
			case len(f.data) > 0:
				f.keep(f.data)
			case f.path != "":
				b, err := os.ReadFile(f.path)
				if err != nil {
					return nil, fmt.Errorf("reading the operator's own credential: %w", err)
				}
				f.keep(b)
			}
		}
		return self, nil
	}
}
