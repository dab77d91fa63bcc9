// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

const (
	// DefaultBuildImage holds infrared-build and the plugins. Releases name theirs by the flag --build-image.
	DefaultBuildImage = "infrared-build:dev"
	// DefaultTofuImage is a release of OpenTofu that has the fix of GHSA-q7j3-v8qv-22vq; the line 1.10 has none.
	DefaultTofuImage = "ghcr.io/opentofu/opentofu:1.12.6"
)
