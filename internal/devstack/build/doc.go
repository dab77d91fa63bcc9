// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build compiles the large programs of the local stack from their Go
// modules, and shows how far it is.
//
// Each program is a module of its own under hack/, so that its thousands of
// packages stay out of the project's go.mod. A first compile takes many minutes;
// how much is left is known because Go tells which packages are stale before
// it builds, and names each as it compiles it. Nothing but the go command
// reaches the network. When nothing changed, nothing is run.
package build
