// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"path/filepath"
	"slices"
)

// Components of a control plane, under the names of their programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// AllComponents lists the components in the order in which they start.
func AllComponents() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler}
}

// Options says what control plane to run. Only Dir must be given.
type Options struct {
	// Dir holds everything of this one control plane. It is made when absent;
	// one that was used before is resumed, its address included.
	Dir string
	// Name is what messages and the kubeconfig call it; the last part of Dir
	// when empty.
	Name string
	// Binary is the control plane binary; what Binary finds when empty.
	Binary string
	// Components to run; all four when empty. etcd and the API server are always
	// among them. Without the controller manager nothing is garbage collected,
	// namespaces are never gone, and there are no default ServiceAccounts; it starts about twice
	// as fast.
	Components []string
	// APIServerArgs are flags put after our own, so they win.
	APIServerArgs []string
	// AuditLog is a file that gets one JSON line for each request: who asked
	// for what, never the contents.
	AuditLog string
	// UnsafeNoFsync lets etcd not wait for the disk: for tests. Data is safe
	// from a killed process all the same, only not from a crash of the machine.
	UnsafeNoFsync bool
	// NewPort takes another port even where the control plane had one, which
	// makes kubeconfigs handed out before useless.
	NewPort bool
	// Env is added to the environment of each component.
	Env []string
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	o.Dir = dir
	if o.Name == "" {
		o.Name = filepath.Base(dir)
	}
	if o.Binary == "" {
		if o.Binary, err = Binary(); err != nil {
			return o, err
		}
	}
	if o.AuditLog != "" {
		if o.AuditLog, err = filepath.Abs(o.AuditLog); err != nil {
			return o, err
		}
	}
	wanted := o.Components
	o.Components = nil
	for _, c := range AllComponents() {
		if len(wanted) == 0 || c == Etcd || c == APIServer || slices.Contains(wanted, c) {
			o.Components = append(o.Components, c)
		}
	}
	return o, nil
}
