// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

// Command node is a Kubernetes node whose pods are processes of this machine.
// It needs namespaces, which only Linux has.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "node: pods as processes need Linux: run the stack without a node, or on Linux")
	os.Exit(1)
}
