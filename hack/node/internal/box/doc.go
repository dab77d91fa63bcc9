// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package box runs one program in namespaces of its own: what a container is,
// without images, networks and limits.
//
// A Launcher starts Boxes. The program sees a root folder that is made for it,
// the files and folders that its Spec mounts there, its own process numbers and host
// name, and the host's network. It is process 1, as in a container, so what it
// leaves behind when it ends is killed by the kernel.
//
// It works for root and, where the kernel allows user namespaces to everyone, for
// other users. Root gives the program the user ID that was asked for. Others have one
// user ID only: the program believes that it has the one asked for,
// and on the host it is whoever started it.
//
// A start has two halves. The launcher forks this same executable, whose main must call
// Enter when its first argument is EnterCommand; that process builds the mounts,
// drops its rights, reports that it is ready and waits. Only Box.Go
// lets it become the program. In between the caller can write down that the
// program is about to run, so that after a crash nobody runs it again in good faith.
//
// Boxes die with the process that started them, even by kill -9.
package box
