// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// all are the pods that the API server has bound to this node.
func (a *Agent) all() []*corev1.Pod {
	pods, err := a.pods.List(labels.Everything())
	if err != nil {
		a.Log.Error("listing the node's pods", "error", err)
	}
	return pods
}

// wakeFolder wakes the worker of a pod whose run folder has changed.
func (a *Agent) wakeFolder(path string) {
	uid := types.UID(filepath.Base(filepath.Dir(filepath.Dir(path))))
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.workers[uid]; w != nil {
		w.wake()
	}
}

func (a *Agent) wakeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.workers {
		w.wake()
	}
}
