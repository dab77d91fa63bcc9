// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"darkshift.io/infrared/hack/realnode/internal/engine"
)

// lister is one kind of a typed client.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// await returns the first object among those that options select that is as wanted. It watches, so nothing is missed and nobody polls.
func await[O runtime.Object, L runtime.Object](ctx context.Context, kind lister[L], options metav1.ListOptions, wanted func(O) bool) (O, error) {
	var last O
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector, o.LabelSelector = options.FieldSelector, options.LabelSelector
			return kind.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector, o.LabelSelector = options.FieldSelector, options.LabelSelector
			return kind.Watch(ctx, o)
		},
	}
	_, err := watchtools.UntilWithSync(ctx, source, last, nil, func(event watch.Event) (bool, error) {
		object, ok := event.Object.(O)
		if !ok {
			return false, nil
		}
		last = object
		return event.Type != watch.Deleted && wanted(object), nil
	})
	if err != nil {
		return last, fmt.Errorf("waiting for a %T: %w: %w", last, err, context.Cause(ctx))
	}
	return last, nil
}

// leftovers says what a node that was taken down left on this machine.
func leftovers(root string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), root) {
		return fmt.Errorf("mounts below %s are left", root)
	}
	var groups []string
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		found, err := filepath.Glob(pattern + engine.Cgroup(root))
		if err != nil {
			return err
		}
		groups = append(groups, found...)
	}
	if len(groups) > 0 {
		return fmt.Errorf("control groups are left: %s", strings.Join(groups, ", "))
	}
	// Arguments name the folder in containerd's, its shims' and the kubelet's.
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, path := range processes {
		if arguments, err := os.ReadFile(path); err == nil && strings.Contains(string(arguments), root+"/") {
			return fmt.Errorf("a process is left: %q", strings.ReplaceAll(string(arguments), "\x00", " "))
		}
	}
	if _, err := os.Stat(root); err == nil {
		return fmt.Errorf("the folder %s is left", root)
	}
	return nil
}
