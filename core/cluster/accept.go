// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// accept writes down what a connected cluster said of itself. notTaken is why a newer kubeconfig was not taken, or "".
func (s *scope) accept(f finding, notTaken string) {
	found := f.found
	s.Status.KubernetesVersion = found.Version
	s.Status.Nodes = &v1alpha1.NodeCount{Total: found.Nodes, Unknown: found.NodesUnknown}

	id := &v1alpha1.Identity{KubeSystemUID: found.UID, Provider: found.Provider, Region: found.Region, ServiceAccount: found.ServiceAccount}
	if old := s.Status.Identity; old != nil {
		id.KubeSystemUID = cmp.Or(old.KubeSystemUID, found.UID)
		id.Provider, id.Region = cmp.Or(found.Provider, old.Provider), cmp.Or(found.Region, old.Region)
	}
	s.Status.Provider, s.Status.Region = cmp.Or(s.Spec.Provider, id.Provider), cmp.Or(askedRegion(s.Cluster), id.Region)
	if s.Spec.Template != nil {
		// A cluster without a node says nothing of where it is, and was built somewhere all the same.
		s.Status.Provider = cmp.Or(s.Status.Provider, cloudOf(s.Cluster))
	}
	if end := earliest(found.TokenExpiry, found.CertificateExpiry); !end.IsZero() {
		id.CredentialExpiresAt = v1alpha1.Seconds(end)
	}
	s.Status.Identity = id

	message := "The API server answers as Kubernetes " + found.Version + "."
	reason := v1alpha1.ReasonConnected
	if len(found.Limits) > 0 {
		reason = v1alpha1.ReasonLimitedAccess
		message += " The account may not read " + strings.Join(found.Limits, " and ") + ", so less is known of the cluster."
	}
	if len(f.notLooked) > 0 {
		reason = v1alpha1.ReasonLimitedAccess
		message += " Not looked at: " + inWords(f.notLooked) + "."
	}
	if notTaken != "" {
		reason = v1alpha1.ReasonReplacementRefused
		message += " It is reached as before, because what the Secret holds now can't be used: " + notTaken
	}
	s.setConnected(true, reason, message)
}

// refusalOf puts an error of a look into a condition's words.
func refusalOf(err error) *refusal {
	var told *provider.Error
	if errors.As(err, &told) {
		return verdict(told)
	}
	var e *connect.Error
	if !errors.As(err, &e) {
		// Not a look's error: only the operator's own configuration can be at fault, and its text may hold anything.
		return &refusal{v1alpha1.ReasonUnreachable, "The operator can't tell how to reach the cluster; its log says why."}
	}
	reasons := map[connect.Kind]string{
		connect.Unreachable:        v1alpha1.ReasonUnreachable,
		connect.Timeout:            v1alpha1.ReasonUnreachable,
		connect.AddressRefused:     v1alpha1.ReasonAddressRefused,
		connect.CertificateInvalid: v1alpha1.ReasonCertificateInvalid,
		connect.Unauthorized:       v1alpha1.ReasonUnauthorized,
		connect.Forbidden:          v1alpha1.ReasonUnauthorized,
		connect.NotKubernetes:      v1alpha1.ReasonNotKubernetes,
		connect.Invalid:            v1alpha1.ReasonKubeconfigInvalid,
	}
	return &refusal{cmp.Or(reasons[e.Kind], v1alpha1.ReasonUnreachable), e.Message}
}

// earliest of two times, of which zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// registered sets the condition Registered to False with what is missing.
func (s *scope) notRegistered(reason, message string) {
	s.set(v1alpha1.ConditionRegistered, metav1.ConditionFalse, reason, message)
}
