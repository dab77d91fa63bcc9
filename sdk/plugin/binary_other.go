// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package plugin

// executesOpenFiles says that there is only the name to execute here.
const executesOpenFiles = false

const openBinary = ""
