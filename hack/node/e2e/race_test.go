// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux && race

package e2e

// A node with the race detector needs C, and therefore libraries, which the
// images of the tests have.
var (
	buildFlags = []string{"-race"}
	buildEnv   = []string{"CGO_ENABLED=1"}
)
