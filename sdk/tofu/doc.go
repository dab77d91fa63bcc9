// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tofu runs OpenTofu for a provider plugin: one call of [Build] is the whole of the verb Build, from fetching the
// module to the list of what was made.
//
//	func main() {
//		tofu.Shim() // first of all: this program is also what OpenTofu is started through
//		plugin.Serve(eks{}, facts())
//	}
//
//	func (eks) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
//		return tofu.Build(ctx, tofu.Options{Schema: schema, Module: module}, req, r)
//	}
//
// A run is always the same: fetch the module, tofu init, look at the state, import what earlier runs made and the state has
// lost, plan into a file, and, for an apply or a destroy, apply that file and nothing else. So what was counted and shown is what
// is done.
//
// # What survives what
//
// OpenTofu runs in a process group of its own behind a shim, which is the plugin's own program started again. The shim
// interrupts OpenTofu once: when the call's context ends, or when the plugin dies, however it dies. OpenTofu then finishes or
// gives up what is in flight, writes its state and releases its lock, also when nobody is left to read its output.
//
// OpenTofu writes its state every 20 seconds, so one that is killed itself loses what it made since. Everything that it says it
// has made is therefore reported at once, as [provider.EventDone] with the resource; the host hands these back as the ledger of
// the next run, which imports what the state lacks. What can't be imported is in BuildResult.LeftBehind.
//
// # What is kept where
//
// All is in the folder tofu, of mode 0700, in BuildRequest.Folder: the module, the providers, the variables as JSON, the kubeconfig of the
// backend, the plan. The state is in the Secret of OpenTofu's Kubernetes backend. The plan names the kubeconfig by its path
// and holds no token, so it can be applied by a later run whose token is another.
//
// Every text of a variable reaches the module byte for byte, with one exception that is OpenTofu's own: it puts text into
// Unicode's normal form C.
package tofu
