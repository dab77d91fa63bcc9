// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"regexp"
	"strings"
)

// What may come from a server, and how long.
var (
	versionShape = regexp.MustCompile(`^v[0-9]{1,4}\.[0-9]{1,4}[A-Za-z0-9.+_~-]{0,54}$`)
	uidShape     = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	labelShape   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
	nameShape    = regexp.MustCompile(`^[A-Za-z0-9*_]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)
)

// IsVersion says whether a text looks like an API server's gitVersion, such as v1.33.4-gke.1036000.
func IsVersion(text string) bool { return versionShape.MatchString(text) }

// IsUID says whether a text can be an object's UID.
func IsUID(text string) bool { return uidShape.MatchString(text) }

// IsRegion says whether a text can be the value of the label topology.kubernetes.io/region, and not an empty one.
func IsRegion(text string) bool { return labelShape.MatchString(text) }

// DefaultNodePrefixes is which provider a node's spec.providerID belongs to, by its prefix, as the cloud controller
// managers of these clouds write it. Prefixes that are not in it (k3s://, kind://) tell no provider.
func DefaultNodePrefixes() map[string]string {
	return map[string]string{
		"aws://":    "aws",
		"gce://":    "gcp",
		"linode://": "linode",
	}
}

// ProviderOf is the provider whose prefix a providerID has, the longest one where several fit; "" where none does.
func ProviderOf(providerID string, prefixes map[string]string) string {
	longest, provider := -1, ""
	for prefix, name := range prefixes {
		if strings.HasPrefix(providerID, prefix) && len(prefix) > longest {
			longest, provider = len(prefix), name
		}
	}
	return provider
}
