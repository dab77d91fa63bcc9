// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
	"slices"
	"strings"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// inClusterProvider is the provider of a Cluster that is the management cluster under another name, where it names no other.
const inClusterProvider = "incluster"

// mostNames is how many Clusters are named in a status.
const mostNames = 10

// cloudsOf are the providers that a Cluster needs. The management cluster needs none: it is only looked at.
func cloudsOf(c *v1alpha1.Cluster) []string {
	if c.Spec.Type == v1alpha1.Management {
		return nil
	}
	clouds := []string{c.Spec.Provider}
	switch {
	case c.Spec.InCluster && c.Spec.Provider == "":
		clouds = append(clouds, inClusterProvider)
	case !c.Spec.InCluster:
		clouds = append(clouds, c.Status.Provider)
	}
	if c.Spec.Template != nil {
		cloud, _, _ := strings.Cut(c.Spec.Template.Module, "/")
		clouds = append(clouds, cloud)
	}
	return slices.DeleteFunc(clouds, func(cloud string) bool { return cloud == "" })
}

// users are the names of the Clusters that need the plugin, sorted. They need the one that has the cloud; a second one for it is
// used by nobody.
func users(p *v1alpha1.Provider, clusters []v1alpha1.Cluster, all []v1alpha1.Provider) []string {
	if p.Status.Provider == "" || ownerBefore(p, all) != "" {
		return nil
	}
	var names []string
	for i := range clusters {
		if slices.Contains(cloudsOf(&clusters[i]), p.Status.Provider) {
			names = append(names, clusters[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// inWords says who uses a plugin.
func inWords(users []string) string {
	switch named := users[:min(len(users), mostNames)]; {
	case len(users) == 1:
		return users[0] + " does"
	case len(users) > len(named):
		return fmt.Sprintf("%s and %d more do", strings.Join(named, ", "), len(users)-len(named))
	default:
		return strings.Join(named, ", ") + " do"
	}
}

// ownerBefore is the oldest Provider that is for the same cloud and older than p; "" where p has the cloud, or its cloud is not
// known yet.
func ownerBefore(p *v1alpha1.Provider, all []v1alpha1.Provider) string {
	if p.Status.Provider == "" {
		return ""
	}
	owner := p
	for i := range all {
		if other := &all[i]; other.Name != p.Name && other.Status.Provider == p.Status.Provider && older(other, owner) {
			owner = other
		}
	}
	if owner == p {
		return ""
	}
	return owner.Name
}

// older goes by the time of creation, which has seconds, and among equals by the name.
func older(a, b *v1alpha1.Provider) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}
