// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package operator_test

import "os/exec"

func dieWithParent(*exec.Cmd) {}
