// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stack is `ir dev`: it keeps a local stack running between commands.
//
// A stack is one management control plane, any number of further ones that
// stand for clusters to register, the project's manifests on the first, and the
// programs that run beside it: the operator, a node that runs pods, and the cloud
// of the provider fake. All of it belongs to one data folder.
//
// One detached process, the supervisor, is the parent of everything. Commands
// and supervisor talk through files in the data folder and a signal, so no
// command has to live on for the stack to live on, and any of them may be killed:
//
//	wanted.json      what should run; written by Up, read by the supervisor
//	state.json       what does run; written by the supervisor, read by all
//	supervisor.lock  held by the supervisor as long as it lives; holds its pid
//	command.lock     held by the command that is changing something
//
// Up raises the generation in wanted.json; the supervisor sees it, starts what is
// wanted and doesn't run, applies the manifests, which somebody may have deleted
// or edited on the server, gives each compiled plugin a Provider with the SHA-256
// of its file, and then writes that generation into state.json as settled. A process that dies stays dead, with its reason in
// state.json, until the next Up: a loop of restarts would hide the reason. The node alone
// is started again, with growing pauses, and takes over the pods that run on without it.
//
// When the supervisor is killed the kernel kills its children with it, and only pods
// live on, until the next Up has a node again or Down ends them. Down
// also looks for processes that carry the data folder in their environment, so that
// nothing stays however the stack came to its end.
package stack
