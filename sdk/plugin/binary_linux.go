// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

// executesOpenFiles says that a file can be executed through a descriptor.
const executesOpenFiles = true

// openBinary is a new process's own name for [binaryFD]. It means the descriptor and not the name that the file once had.
const openBinary = "/proc/self/fd/4"
