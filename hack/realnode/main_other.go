// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

// Command realnode runs on Linux only.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "realnode: a real node needs Linux; use the process node there, or a virtual machine")
	os.Exit(1)
}
