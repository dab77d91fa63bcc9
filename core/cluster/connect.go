// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/argo"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/claim"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// access is what connecting came to.
type access struct {
	// destination to register: the one that connects now, or the one stored before; nil where there is neither, or none is needed.
	destination *argo.Destination
	// builtIn is true where Argo CD needs no Secret, because it is the management cluster.
	builtIn bool
	// next is in how long to look again.
	next time.Duration
}

// connect reaches the cluster and sets the condition Connected.
func (r *Reconciler) connect(ctx context.Context, s *scope, turn build.Turn) (access, error) {
	switch {
	case orgsManagement(s.Cluster) != nil:
		// It was let in before the rule on the CRD. What it has learnt is not the org's to read.
		r.looks.forget(s.Name)
		s.Status.Provider, s.Status.Region, s.Status.KubernetesVersion, s.Status.Nodes, s.Status.Identity = "", "", "", nil, nil
		s.refuse(orgsManagement(s.Cluster))
		return access{}, nil //nolint:nilerr // the condition tells why
	case s.Spec.Type == v1alpha1.Management || s.Spec.InCluster:
		return r.connectSelf(ctx, s)
	case s.Spec.Template != nil:
		return r.connectBuilt(ctx, s, turn)
	}
	src, err := r.ways(ctx, s)
	if err != nil {
		return access{}, err
	}
	return r.follow(ctx, s, src)
}

// follow tries the ways in, the one that is offered first.
func (r *Reconciler) follow(ctx context.Context, s *scope, src *ways) (access, error) {
	if src.offered != nil {
		done, acc, err := r.tryOffered(ctx, s, src)
		if done || err != nil {
			return acc, err
		}
	}
	acc, err := r.fallBack(ctx, s, src)
	if err != nil {
		return access{}, err
	}
	return acc, r.keepClaims(ctx, s, src)
}

// tryOffered looks at the cluster by the kubeconfig Secret. It is done unless that failed, which then is in src.refused.
func (r *Reconciler) tryOffered(ctx context.Context, s *scope, src *ways) (bool, access, error) {
	known := src.stored != nil && same(*src.offered, *src.stored)
	v, err := r.look(ctx, s, offered, *src.offered)
	if err != nil {
		return true, access{}, err
	}
	if v == nil {
		s.connecting()
		return true, access{destination: src.stored}, nil
	}
	acc := access{destination: src.stored, next: v.next}
	if v.err == nil {
		err := r.identify(ctx, s, src, *src.offered, v.found)
		if err == nil {
			s.accept(v.finding, "")
			acc.destination = src.offered
			return true, acc, r.keepClaims(ctx, s, src)
		}
		if !errors.As(err, &src.refused) {
			return true, access{}, err
		}
		return false, acc, nil
	}
	if known && v.soft() && v.failures < patience && s.connected() {
		return true, acc, nil
	}
	src.refused = refusalOf(v.err)
	if known || src.stored == nil {
		s.refuse(src.refused)
		return true, acc, r.keepClaims(ctx, s, src)
	}
	return false, acc, nil
}

// fallBack keeps the connection that is stored, when what is offered now can't be had.
func (r *Reconciler) fallBack(ctx context.Context, s *scope, src *ways) (access, error) {
	if src.stored == nil {
		s.refuse(src.refused)
		return access{next: resync}, nil
	}
	acc := access{destination: src.stored, next: resync}
	v, err := r.look(ctx, s, stored, *src.stored)
	switch {
	case err != nil:
		return access{}, err
	case v == nil:
		return acc, nil
	case v.err == nil:
		err := r.identify(ctx, s, src, *src.stored, v.found)
		if err == nil {
			s.accept(v.finding, src.refused.message)
			return access{destination: src.stored, next: v.next}, nil
		}
		if !errors.As(err, &src.refused) {
			return access{}, err
		}
	case v.soft() && v.failures < patience && s.connected():
		return access{destination: src.stored, next: v.next}, nil
	}
	s.refuse(src.refused)
	acc.next = v.next
	return acc, nil
}

// identify compares a cluster that answered at d with the one that was there before, and claims it. Nothing is claimed for an address
// that was not let through, or where nobody answered: it might be another's.
func (r *Reconciler) identify(ctx context.Context, s *scope, src *ways, d argo.Destination, found connect.Cluster) error {
	if err := s.sameAsBefore(src, d, found); err != nil {
		return err
	}
	claims := serverClaims(d)
	if found.UID != "" {
		claims = append(claims, claim.Claim{Kind: claim.KubeSystem, Value: found.UID})
	}
	if err := r.take(ctx, s, claims...); err != nil {
		return err
	}
	src.claims = append(src.claims, claims...)
	return nil
}

// sameAsBefore refuses another cluster than the one that was registered. Two UIDs tell; where one is not known, because the account may
// not read it, only the same address under the same CA counts as the same cluster.
func (s *scope) sameAsBefore(src *ways, d argo.Destination, found connect.Cluster) error {
	if s.Status.Identity == nil {
		return nil
	}
	known := s.Status.Identity.KubeSystemUID
	switch {
	case known != "" && found.UID != "" && known != found.UID:
		return &refusal{v1alpha1.ReasonIdentityChanged, fmt.Sprintf(
			"Another cluster answers than the one that was registered: its kube-system has UID %s, not %s. Nothing destructive is done. Put the old cluster's kubeconfig back, and register the new one under another name.",
			found.UID, known)}
	case known != "" && found.UID != "", src.stored == nil && known == "":
		return nil
	case src.stored != nil && kubeconfig.ServerKey(d.Config.Server) == kubeconfig.ServerKey(src.stored.Config.Server) &&
		bytes.Equal(d.Config.CAData, src.stored.Config.CAData):
		return nil
	}
	return &refusal{v1alpha1.ReasonIdentityChanged,
		"It can't be told whether this is the cluster that was registered: the address or the CA is another, and the UID of kube-system is not known of both. Let the account read namespace kube-system, or register the cluster under another name."}
}

// keepClaims puts back claims off which somebody took a mark, also while the cluster does not answer, and drops what the Cluster
// claimed before and doesn't use any more.
func (r *Reconciler) keepClaims(ctx context.Context, s *scope, src *ways) error {
	if id := s.Status.Identity; id != nil && id.KubeSystemUID != "" {
		src.claims = append(src.claims, claim.Claim{Kind: claim.KubeSystem, Value: id.KubeSystemUID})
	}
	for _, known := range src.claims {
		var held *refusal
		if err := r.take(ctx, s, known); err != nil && !errors.As(err, &held) {
			return err
		}
	}
	return r.claims.Keep(ctx, s.Cluster, src.claims...)
}

// look asks the cluster at a destination, under the policy of whoever owns it. It is nil while there is no answer.
func (r *Reconciler) look(ctx context.Context, s *scope, which which, d argo.Destination) (*view, error) {
	w, err := r.wayTo(ctx, s)
	if err != nil {
		return nil, err
	}
	t := target{config: d.Config}
	if s.Spec.Org == "" {
		t.private, t.allow = true, r.Allow
	}
	return r.looks.see(lookKey{s.Name, which}, w.bucket, fingerprint(s, w, d), func(ctx context.Context) finding {
		if d.Server != d.Config.Server {
			// Argo CD dials this one, and has no policy of its own.
			if err := checkServer(ctx, t.policy(), d.Server); err != nil {
				return finding{err: err}
			}
		}
		return r.reach(ctx, w, t)
	}), nil
}

func checkServer(ctx context.Context, policy dial.Policy, server string) error {
	address, err := url.Parse(server)
	if err != nil {
		return &connect.Error{Kind: connect.Invalid, Message: "spec.server is no address"}
	}
	ctx, cancel := context.WithTimeout(ctx, connect.DefaultTimeout)
	defer cancel()
	if err := policy.CheckHost(ctx, address.Hostname()); err != nil {
		return &connect.Error{Kind: connect.AddressRefused, Message: "spec.server: " + hostError(err)}
	}
	return nil
}

func hostError(err error) string {
	var refused *dial.RefusedError
	if errors.As(err, &refused) {
		return refused.Error()
	}
	return "the host name can't be resolved"
}

// fingerprint names a destination of this incarnation and who was asked about it, so that an answer is never taken for another's.
func fingerprint(s *scope, w way, d argo.Destination) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		s.Spec.Incarnation, s.Spec.Org, w.name, d.Server, string(kubeconfig.Write(d.Config)),
	}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// same reports whether two destinations are one, whatever the context was called.
func same(a, b argo.Destination) bool {
	a.Config.ContextName, a.Config.Namespace = b.Config.ContextName, b.Config.Namespace
	return a.Server == b.Server && bytes.Equal(kubeconfig.Write(a.Config), kubeconfig.Write(b.Config))
}

// connecting says that the first answer is awaited. What was known before stays.
func (s *scope) connecting() {
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionConnected {
			return
		}
	}
	s.set(v1alpha1.ConditionConnected, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "Waiting for the API server's first answer.")
}
