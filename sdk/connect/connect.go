// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connect reaches a cluster's API server and says which cluster it is: version, number of nodes, provider, region
// and the identity by which it is known again.
//
// The server is a stranger's. It may be dead, slow, huge or lying, so a call has one deadline for everything, every answer
// a size at which reading stops, and nothing of an answer is passed on before it was checked for shape and length. Nothing
// is written to the cluster, and what the account may not read is a limit in the result, not an error.
package connect

import (
	"context"
	"net/http"
	"slices"
	"time"

	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// DefaultTimeout bounds a whole call of Connect.
const DefaultTimeout = 10 * time.Second

// Target is what to reach, and how.
type Target struct {
	// Config is the way in, as kubeconfig.Read returned it or a plugin made it.
	Config *kubeconfig.Config
	// Policy says which addresses may be dialled; the zero value lets public ones through only.
	Policy dial.Policy
	// Timeout bounds the whole call; zero is DefaultTimeout.
	Timeout time.Duration
	// NodePrefixes says which provider a node's providerID belongs to; nil is DefaultNodePrefixes.
	NodePrefixes map[string]string
	// Now is the clock that judges a token's expiry; nil is time.Now.
	Now func() time.Time
}

// Cluster is what was found. Texts are short and printable, whatever the server sent.
type Cluster struct {
	// Version is the API server's gitVersion, such as v1.31.4 or v1.33.4-gke.1036000.
	Version string
	// Nodes is how many nodes there are, ready or not; nil where that is unknown.
	Nodes *int32
	// NodesUnknown says why Nodes is nil.
	NodesUnknown string
	// Provider is read from the nodes, by the prefixes of the Target; empty where they do not tell.
	Provider string
	// Region is the label topology.kubernetes.io/region of a node; empty where none bears it.
	Region string
	// UID is the UID of the namespace kube-system, which no two clusters share; empty where it may not be read.
	UID string
	// Limits is what the account may not read, sorted; empty where it may read all that is asked for.
	Limits []string
	// ServiceAccount is the account whose token is used, as NAMESPACE/NAME; empty where it is no ServiceAccount's.
	ServiceAccount string
	// TokenExpiry is when that token ends; zero where it never does, or where it does not tell.
	TokenExpiry time.Time
	// CertificateExpiry is when the client certificate ends; zero where there is none.
	CertificateExpiry time.Time
}

// What Limits can hold.
const (
	LimitNodes      = "nodes"
	LimitKubeSystem = "the namespace kube-system"
)

// Connect asks the API server for its version, its nodes and the namespace kube-system. Its errors are [*Error], except
// that ctx being cancelled by the caller gives an error that is context.Canceled.
func Connect(ctx context.Context, t Target) (Cluster, error) {
	s, err := newSession(t)
	if err != nil {
		return Cluster{}, err
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.connect(ctx, t)
}

// connect is Connect within one session and its deadline.
func (s *session) connect(ctx context.Context, t Target) (Cluster, error) {
	if !t.Policy.Private {
		// Argo CD will dial the same host with a resolver of its own, so every address of it must be public.
		if err := t.Policy.CheckHost(ctx, s.server.Hostname()); err != nil {
			return Cluster{}, s.transportError(ctx, err)
		}
	}
	version, err := s.version(ctx)
	if err != nil {
		return Cluster{}, err
	}
	c := Cluster{Version: version}
	if err := s.nodes(ctx, &c); err != nil {
		return Cluster{}, err
	}
	if err := s.identity(ctx, &c); err != nil {
		return Cluster{}, err
	}
	slices.Sort(c.Limits)
	if subject, ok := kubeconfig.TokenSubject(t.Config.Token); ok {
		c.ServiceAccount, c.TokenExpiry = subject.Namespace+"/"+subject.Name, subject.Expiry
	}
	c.CertificateExpiry = t.Config.CertificateExpiry()
	return c, nil
}

// version reads GET /version, which any authenticated account may.
func (s *session) version(ctx context.Context) (string, error) {
	var answer struct {
		GitVersion string `json:"gitVersion"`
	}
	status, err := s.get(ctx, request{path: "/version", limit: smallBody, into: decodeJSON(&answer)})
	switch {
	case err != nil:
		return "", err
	case status == http.StatusForbidden:
		return "", s.fail(Forbidden, "takes the credential but lets it read nothing, not even /version; "+
			"bind the account to a ClusterRole that can deploy what the cluster is for")
	case status == http.StatusNotFound || !IsVersion(answer.GitVersion):
		return "", s.fail(NotKubernetes, "answers, but not as a Kubernetes API server does; check the address, its port and its path")
	}
	return answer.GitVersion, nil
}

// identity reads the UID of kube-system into c.
func (s *session) identity(ctx context.Context, c *Cluster) error {
	var answer struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
			UID  string `json:"uid"`
		} `json:"metadata"`
	}
	status, err := s.get(ctx, request{path: "/api/v1/namespaces/kube-system", limit: smallBody, into: decodeJSON(&answer)})
	switch {
	case err != nil:
		return err
	case status == http.StatusForbidden || status == http.StatusNotFound:
		c.Limits = append(c.Limits, LimitKubeSystem)
		return nil
	case answer.Kind != "Namespace" || answer.Metadata.Name != "kube-system" || !IsUID(answer.Metadata.UID):
		return s.fail(NotKubernetes, "answers with something else when asked for the namespace kube-system")
	}
	c.UID = answer.Metadata.UID
	return nil
}
