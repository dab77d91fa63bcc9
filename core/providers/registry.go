// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// Registry finds plugins. It may be asked from many goroutines at once.
type Registry struct {
	// Reader reads Providers, from the manager's cache.
	Reader client.Reader
	// Host runs the plugins.
	Host Host
}

// For is the plugin for a cloud, such as aws, and the name of its Provider; "" and nil where no Provider is for it. A plugin that is
// down is found as well, and its calls then fail with words that name it. So is one that only has to be started again, as all
// are after a restart of the operator. One that turns out to be for another cloud by now gets no call.
func (r *Registry) For(ctx context.Context, cloud string) (name string, plugin provider.Provider, err error) {
	var all v1alpha1.ProviderList
	if err := r.Reader.List(ctx, &all); err != nil {
		return "", nil, fmt.Errorf("listing Providers: %w", err)
	}
	owner := ownerOf(cloud, all.Items)
	if owner == nil {
		return "", nil, nil
	}
	// Only where the host has none at all: what is in the cache may be older than what the reconciler asked for.
	if _, known := r.Host.State(owner.Name); !known && owner.DeletionTimestamp.IsZero() {
		r.Host.Ensure(owner.Name, specOf(owner))
	}
	return owner.Name, r.Host.Provider(owner.Name, cloud), nil
}

// Template finds the plugin for a cloud, and its template of a name, such as aws/eks-cluster. What a plugin has is known once it has run
// since the operator began; before, as while it is down, it is not Healthy, and Why says so.
func (r *Registry) Template(ctx context.Context, cloud, module string) (build.Found, error) {
	name, _, err := r.For(ctx, cloud) // which has it started, where it was not
	if err != nil || name == "" {
		return build.Found{}, err
	}
	var owner v1alpha1.Provider
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, &owner); err != nil {
		return build.Found{}, fmt.Errorf("reading Provider %s: %w", name, err)
	}
	found := build.Found{Provider: name, Binary: owner.Spec.Binary, SHA256: owner.Spec.SHA256}
	state, known := r.Host.State(name)
	facts := state.Description.Facts
	switch {
	case !known:
		found.Why = "it is being stopped"
		return found, nil
	case facts.Name != "" && facts.Name != cloud:
		found.Why = fmt.Sprintf("its plugin is for %s by now, and not for %s", facts.Name, cloud)
		return found, nil
	case state.Healthy && facts.Name != "":
		found.Healthy = true
	default:
		found.Why = state.Message
	}
	found.Facts = facts
	for i := range facts.Templates {
		if facts.Templates[i].Name == module {
			found.Template = &facts.Templates[i]
		}
	}
	return found, nil
}

var _ build.Templates = (*Registry)(nil)

// Kinds are the kinds of things that the plugin of a Provider looks for in its cloud, as it last said.
func (r *Registry) Kinds(name string) []string {
	state, _ := r.Host.State(name)
	var names []string
	for _, kind := range state.Description.Facts.Kinds {
		names = append(names, kind.Name)
	}
	return names
}

// NodePrefixes is which provider a node's spec.providerID belongs to, by how it begins: what every plugin said of its cloud, and
// connect.DefaultNodePrefixes. Where two say it of one prefix, it belongs to the older Provider.
func (r *Registry) NodePrefixes(ctx context.Context) map[string]string {
	prefixes := connect.DefaultNodePrefixes()
	var all v1alpha1.ProviderList
	if err := r.Reader.List(ctx, &all); err != nil {
		logf.FromContext(ctx).Error(err, "listing Providers; nodes are known by the built-in prefixes alone")
		return prefixes
	}
	said := map[string]*v1alpha1.Provider{}
	for i := range all.Items {
		p := &all.Items[i]
		if p.Status.Provider == "" || ownerBefore(p, all.Items) != "" {
			continue
		}
		for _, prefix := range p.Status.NodePrefixes {
			if before := said[prefix]; before == nil || older(p, before) {
				said[prefix], prefixes[prefix] = p, p.Status.Provider
			}
		}
	}
	return prefixes
}

// ownerOf is the Provider that has the cloud, or nil.
func ownerOf(cloud string, all []v1alpha1.Provider) *v1alpha1.Provider {
	var owner *v1alpha1.Provider
	for i := range all {
		if p := &all[i]; cloud != "" && p.Status.Provider == cloud && (owner == nil || older(p, owner)) {
			owner = p
		}
	}
	return owner
}
