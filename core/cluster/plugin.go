// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

// inCluster is the provider of a Cluster with spec.inCluster, where spec.provider names no other.
const inCluster = "incluster"

// Providers finds the plugin of a cluster's provider.
type Providers interface {
	// For is the plugin of a provider such as aws, and the name of its Provider; nil where there is none for it. One that is down
	// is found as well, and its calls fail.
	For(ctx context.Context, cloud string) (name string, plugin provider.Provider, err error)
	// NodePrefixes is which provider a node's spec.providerID belongs to, by how it begins.
	NodePrefixes(ctx context.Context) map[string]string
	// Kinds are the kinds of things that the plugin of a Provider looks for in its cloud.
	Kinds(name string) []string
}

// way is how a cluster is looked at: through its provider's plugin, or by the core itself where there is none.
type way struct {
	// name is the Provider's; empty without a plugin.
	name   string
	plugin provider.Provider
	// bucket is what looks wait for together; empty where they have nothing in common.
	bucket string
	// cloud is the provider that the plugin was found by, where the Cluster itself names none.
	cloud string
	// cluster is what the plugin is told of it.
	cluster provider.Cluster
}

// wayTo finds the plugin of the cluster's provider. The management cluster has none: the operator must reach its own cluster
// whatever becomes of its plugins.
func (r *Reconciler) wayTo(ctx context.Context, s *scope) (way, error) {
	cloud := cloudOf(s.Cluster)
	if r.Providers == nil || cloud == "" {
		return way{}, nil
	}
	name, plugin, err := r.Providers.For(ctx, cloud)
	if err != nil {
		return way{}, fmt.Errorf("finding the plugin for provider %q: %w", cloud, err)
	}
	if plugin == nil {
		return way{}, nil
	}
	account, template := s.Spec.Org, ""
	if s.Spec.Provision != nil {
		account = cmp.Or(s.Spec.Provision.CloudAccount, account)
	}
	if s.Spec.Template != nil {
		template = s.Spec.Template.Module
	}
	w := way{name: name, plugin: plugin, bucket: name + "/" + account, cluster: provider.Cluster{
		Name: s.Name, Incarnation: s.Spec.Incarnation, Org: s.Spec.Org, Template: template,
		Region: regionOf(s.Cluster),
	}}
	if s.Spec.Provider == "" {
		w.cloud = cloud
	}
	return w, nil
}

// cloudOf is the provider by which a cluster's plugin is found; empty where it has none.
func cloudOf(c *v1alpha1.Cluster) string {
	var implied, template string
	if c.Spec.InCluster {
		implied = inCluster
	}
	if c.Spec.Template != nil {
		template, _, _ = strings.Cut(c.Spec.Template.Module, "/")
	}
	if c.Spec.Type == v1alpha1.Management {
		return ""
	}
	return cmp.Or(c.Spec.Provider, implied, template, c.Status.Provider)
}

// target is what one look is told: the way in, and which addresses may be dialled for it.
type target struct {
	config  kubeconfig.Config
	private bool
	allow   []netip.Prefix
}

func (t target) policy() dial.Policy { return dial.Policy{Private: t.private, Allow: t.allow} }

// reach looks at a cluster.
func (r *Reconciler) reach(ctx context.Context, w way, t target) finding {
	if w.plugin == nil {
		direct := connect.Target{Config: &t.config, Policy: t.policy(), Now: r.Clock.Now}
		if r.Providers != nil {
			direct.NodePrefixes = r.Providers.NodePrefixes(ctx)
		}
		found, err := r.Connect(ctx, direct)
		return finding{found: found, err: err}
	}
	endpoint := connect.EndpointOf(t.config)
	req := provider.ConnectRequest{
		Cluster: w.cluster, Endpoint: &endpoint, PrivateAddresses: t.private, Allow: t.allow,
	}
	answer, err := w.plugin.Connect(ctx, req)
	if err != nil {
		failed := failedBy(err, !req.Credentials.IsZero())
		failed.through = w.name
		return failed
	}
	found, notLooked := foundBy(answer)
	if req.Credentials.IsZero() {
		// Nobody was to look into the cloud, so that this says nothing of the connection.
		kinds := r.Providers.Kinds(w.name)
		notLooked = slices.DeleteFunc(notLooked, func(part provider.NotLooked) bool { return slices.Contains(kinds, part.What) })
	}
	found.Provider = w.cloud
	found.CertificateExpiry = t.config.CertificateExpiry()
	if subject, ok := kubeconfig.TokenSubject(t.config.Token); ok {
		found.ServiceAccount, found.TokenExpiry = subject.Namespace+"/"+subject.Name, subject.Expiry
	}
	return finding{found: found, notLooked: notLooked, through: w.name}
}

// failedBy is a look that a plugin's error ended. Without cloud credentials there is nobody but the API server that could have refused,
// or not have answered, so that the error reads as if no plugin had been between.
func failedBy(err error, credentials bool) finding {
	var e *provider.Error
	if credentials || !errors.As(err, &e) || errors.Is(e, pluginhost.ErrUnusable) {
		return finding{err: err}
	}
	if direct := connect.ErrorOf(e); direct != nil {
		return finding{err: direct, after: e.After}
	}
	return finding{err: err}
}

// foundBy is a plugin's answer in the words of a look, and what it could not look at, sorted. Whether nodes are ready is in no
// status.
func foundBy(answer provider.Connection) (connect.Cluster, []provider.NotLooked) {
	c := connect.Cluster{Version: answer.Version, Region: answer.Region, UID: answer.Identity.KubeSystemUID}
	parts := slices.DeleteFunc(slices.Clone(answer.NotLooked), func(part provider.NotLooked) bool {
		return part.What == connect.PartReadyNodes
	})
	slices.SortFunc(parts, func(a, b provider.NotLooked) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Why, b.Why))
	})
	if answer.Nodes != nil {
		total := answer.Nodes.Total
		c.Nodes = &total
		return c, parts
	}
	c.NodesUnknown = "the plugin gives no number"
	for _, part := range parts {
		if part.What == connect.LimitNodes {
			c.NodesUnknown = part.Why
		}
	}
	return c, parts
}

// verdict is the reason and the message of a plugin's error. A plugin that can't be used says nothing about the cluster.
func verdict(err *provider.Error) *refusal {
	if errors.Is(err, pluginhost.ErrUnusable) {
		return &refusal{v1alpha1.ReasonProviderUnavailable,
			sentence(err.Message) + " The cluster is left as it is, and looked at again by itself."}
	}
	return &refusal{provider.KindOf(err).Row().Reason, sentence(err.Error())}
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// inWords lists what could not be looked at.
func inWords(parts []provider.NotLooked) string {
	var words []string
	for _, part := range parts {
		text := part.What
		if part.Where != "" {
			text += " in " + part.Where
		}
		if part.Why != "" {
			text += " (" + part.Why + ")"
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}
