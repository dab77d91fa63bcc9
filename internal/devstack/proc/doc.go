// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proc starts child processes that die with their parent, and finds
// the ones that did not.
//
// A Launcher owns the operating system thread that its children are forked
// from, because Linux ties "kill me when my parent dies" to the forking
// thread and not to the process: forked from any goroutine, a child would die
// whenever the runtime retired that thread. When the parent is killed, even by
// kill -9, the kernel kills every child at once.
//
// Each child leads a process group of its own, so that a Ctrl-C in a terminal
// reaches the parent alone, which then stops its children in their order.
//
// Linux only. Elsewhere everything compiles and Start says so.
package proc
