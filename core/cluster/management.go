// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/sdk/connect"
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

// orgsManagement refuses the management cluster to an org: it is reached with the operator's own credentials. The CRD says so, too, but
// may be older than the object, or be another version's.
func orgsManagement(c *v1alpha1.Cluster) *refusal {
	if c.Spec.Org == "" || !c.Spec.InCluster {
		return nil
	}
	return &refusal{v1alpha1.ReasonAddressRefused,
		"spec.org and spec.inCluster can't go together: the management cluster is the platform's, and no org's. Delete this Cluster, and make one without spec.org."}
}

// connectSelf reaches the management cluster, for its own Cluster and for those with inCluster.
func (r *Reconciler) connectSelf(ctx context.Context, s *scope) (access, error) {
	w, err := r.wayTo(ctx, s)
	if err != nil {
		return access{}, err
	}
	v := r.looks.see(lookKey{s.Name, offered}, w.bucket, "self/"+w.name+"/"+s.Spec.Incarnation, func(ctx context.Context) finding {
		config, err := r.Self()
		if err != nil {
			return finding{err: err}
		}
		// The operator reaches its own management cluster wherever that is.
		return r.reach(ctx, w, target{config: *config, private: true, allow: everywhere()})
	})
	acc := access{builtIn: true}
	if v == nil {
		s.connecting()
		return acc, nil
	}
	acc.next = v.next
	if v.err != nil {
		logf.FromContext(ctx).Error(v.err, "the operator does not reach its own management cluster", "plugin", w.name)
		if !s.connected() || v.failures >= patience {
			s.refuse(refusalOf(v.err))
		}
		return acc, nil
	}
	if s.Spec.Type == v1alpha1.Management {
		if err := r.claimSelf(ctx, s, v.found); err != nil {
			return acc, err
		}
	}
	v.found.ServiceAccount, v.found.TokenExpiry = "", time.Time{} // the operator's own, and none of the reader's business
	s.accept(v.finding, "")
	s.Status.Identity.ManagementCluster = true
	return acc, nil
}

// claimSelf claims the management cluster's identity and the address the operator knows it by. A Cluster that connected there before
// there was this one keeps it.
func (r *Reconciler) claimSelf(ctx context.Context, s *scope, found connect.Cluster) error {
	self, err := r.Self()
	if err != nil {
		return fmt.Errorf("finding the operator's own address: %w", err)
	}
	claims := []claim.Claim{{Kind: claim.Server, Value: kubeconfig.ServerKey(self.Server)}}
	if found.UID != "" {
		claims = append(claims, claim.Claim{Kind: claim.KubeSystem, Value: found.UID})
	}
	var held *claim.HeldError
	if err := r.claims.TakeAll(ctx, s.Cluster, claims...); err != nil && !errors.As(err, &held) {
		return err
	}
	return r.claims.Keep(ctx, s.Cluster, claims...)
}

// everywhere is all addresses there are.
func everywhere() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
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
