// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

const (
	// DefaultBuildImage holds infrared-build and the plugins. Releases name theirs by the flag --build-image.
	DefaultBuildImage = "infrared-build:dev"
	// DefaultTofuImage is a release of OpenTofu that has the fix of GHSA-q7j3-v8qv-22vq; the line 1.10 has none. The digest is the one under
	// which others pin that tag in public; no registry could be asked here.
	DefaultTofuImage = "ghcr.io/opentofu/opentofu:1.12.6@sha256:22cb52f6c5bf5c72a48a8f56d993d8df3e9462b1cdfb5db7e77143c87e8d159f"
)
