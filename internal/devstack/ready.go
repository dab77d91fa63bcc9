// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const readyPoll = 50 * time.Millisecond

// waitHealthy returns when the API server says that it is well. The others may
// have died with an earlier one: their turn to be started comes after.
func (cp *ControlPlane) waitHealthy(ctx context.Context) error {
	return cp.wait(ctx, []string{Etcd, APIServer}, func() error {
		return cp.api.call(ctx, http.MethodGet, "/healthz", nil, nil)
	})
}

// waitReady returns when the control plane can be used.
func (cp *ControlPlane) waitReady(ctx context.Context) error {
	paths := []string{"/readyz", "/api/v1/namespaces/default"}
	if slices.Contains(cp.opts.Components, ControllerManager) {
		paths = append(paths, "/api/v1/namespaces/default/serviceaccounts/default")
	}
	return cp.wait(ctx, cp.opts.Components, func() error {
		for len(paths) > 0 {
			if err := cp.api.call(ctx, http.MethodGet, paths[0], nil, nil); err != nil {
				return err
			}
			paths = paths[1:] // what was there once stays
		}
		return nil
	})
}

// wait tries until it works, one of the components dies, or ctx ends.
func (cp *ControlPlane) wait(ctx context.Context, components []string, try func() error) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		if dead := cp.deadError(components); dead != nil {
			return dead
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("control plane %q is not ready: %w, the last answer was: %w", cp.opts.Name, context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// deadError describes the first of the components that was started and has
// ended; nil when all run. They are looked at in the order in which they depend on each other, so the
// cause comes before what follows from it.
func (cp *ControlPlane) deadError(components []string) error {
	for _, c := range components {
		p := cp.Process(c)
		if p == nil {
			continue
		}
		if _, ended := p.Exited(); !ended {
			continue
		}
		if c == APIServer && !portFree(cp.port) {
			return cp.portTaken()
		}
		return fmt.Errorf("control plane %q: %s", cp.opts.Name, p.Death())
	}
	return nil
}
