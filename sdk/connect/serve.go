// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"cmp"
	"context"
	"slices"

	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

// PartReadyNodes is what provider.NotLooked names where the nodes are counted and it is not known which are Ready; Nodes.Ready is 0
// then, and says nothing.
const PartReadyNodes = "ready nodes"

// Serve answers Connect by what the cluster itself tells, for a plugin whose cluster has its way in from the request. What only the
// cloud knows (CloudID, Account, Network, Traits, Holds) is the plugin's to add. The way in is returned as it came.
//
// Its errors are *provider.Error, and ErrorOf reads them back: Invalid with one of the fields FieldEndpoint, FieldServer, FieldCA and
// FieldAPI; Unauthenticated and Denied where the API server refuses; Unavailable where it does not answer. Beside these, Unsupported
// for a token to be made.
func Serve(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	switch {
	case req.Endpoint == nil:
		return provider.Connection{}, provider.Invalidf(FieldEndpoint, "is missing: there is no other way into this cluster; give its address and a credential")
	case req.RenewToken > 0:
		return provider.Connection{}, provider.Errorf(provider.Unsupported, "this cluster's token can't be renewed here: whoever registered it gives a new kubeconfig")
	}
	target := Target{
		Config: configOf(*req.Endpoint),
		Policy: dial.Policy{Private: req.PrivateAddresses, Allow: req.Allow},
	}
	c, count, why, err := connectAndCount(ctx, target)
	if err != nil {
		return provider.Connection{}, verdict(err)
	}
	answer := provider.Connection{
		Endpoint:  *req.Endpoint,
		Version:   c.Version,
		Region:    c.Region,
		Identity:  provider.ClusterIdentity{KubeSystemUID: c.UID},
		NotLooked: notLooked(c),
	}
	switch {
	case c.Nodes == nil:
		// notLooked has said why.
	case why != "":
		answer.Nodes = &provider.Nodes{Total: *c.Nodes}
		answer.NotLooked = append(answer.NotLooked, provider.NotLooked{What: PartReadyNodes, Why: why})
	default:
		answer.Nodes = &provider.Nodes{Ready: count.ready, Total: count.total}
	}
	return answer, nil
}

// connectAndCount is Connect, and the count of the nodes that are Ready, or why there is none, within one deadline.
func connectAndCount(ctx context.Context, t Target) (Cluster, readiness, string, error) {
	s, err := newSession(t)
	if err != nil {
		return Cluster{}, readiness{}, "", err
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	c, err := s.connect(ctx, t)
	if err != nil || c.Nodes == nil {
		return c, readiness{}, "", err
	}
	count, why, err := s.ready(ctx)
	return c, count, why, err
}

// configOf is a request's endpoint as the kubeconfig that it came from.
func configOf(e provider.Endpoint) *kubeconfig.Config {
	return &kubeconfig.Config{
		Server: e.Server, TLSServerName: e.TLSServerName, CAData: e.CA,
		Token: e.Token, ClientCertData: e.ClientCertificate, ClientKeyData: e.ClientKey,
	}
}

// EndpointOf is a kubeconfig as a request's endpoint. Its expiry is the token's or the client certificate's, whichever is sooner.
func EndpointOf(c kubeconfig.Config) provider.Endpoint {
	e := provider.Endpoint{
		Server: c.Server, TLSServerName: c.TLSServerName, CA: c.CAData,
		Token: c.Token, ClientCertificate: c.ClientCertData, ClientKey: c.ClientKeyData,
		Expiry: c.CertificateExpiry(),
	}
	if subject, ok := kubeconfig.TokenSubject(c.Token); ok && !subject.Expiry.IsZero() && (e.Expiry.IsZero() || subject.Expiry.Before(e.Expiry)) {
		e.Expiry = subject.Expiry
	}
	return e
}

// notLooked is what a cluster would not tell, sorted, with the way out.
func notLooked(c Cluster) []provider.NotLooked {
	var parts []provider.NotLooked
	if slices.Contains(c.Limits, LimitKubeSystem) {
		parts = append(parts, provider.NotLooked{What: LimitKubeSystem,
			Why: "the account may not read it, so the cluster can't be told from another one; bind it to a ClusterRole that may get it"})
	}
	if c.Nodes == nil {
		why := c.NodesUnknown
		if slices.Contains(c.Limits, LimitNodes) {
			why += "; bind it to a ClusterRole that may"
		}
		parts = append(parts, provider.NotLooked{What: LimitNodes, Why: cmp.Or(why, "the API server gives no number")})
	}
	slices.SortFunc(parts, func(a, b provider.NotLooked) int { return cmp.Compare(a.What, b.What) })
	return parts
}
