// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package e2e

var (
	buildFlags = []string{}
	buildEnv   = []string{"CGO_ENABLED=0"}
)
