// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package stdout

// move does nothing: hosts run on Linux, and elsewhere an author only compiles and describes.
func move() int { return None }
