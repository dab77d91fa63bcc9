// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"slices"
	"strings"
	"sync"

	"darkshift.io/infrared/internal/devstack"
)

// converge starts what is wanted and doesn't run: the control planes side by
// side, and on the management one its manifests and then the programs. What
// fails is described by its rows and in the log; the rest goes on.
func (sup *supervisor) converge(ctx context.Context, w Wanted) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	sup.mu.Lock()
	planes := slices.Clone(sup.planes)
	management := sup.plane(Management)
	sup.mu.Unlock()
	if w.NewPorts {
		// Nothing may start by itself while addresses change.
		for _, u := range sup.units {
			if u.revive {
				u.end()
			}
		}
	}

	var group sync.WaitGroup
	for _, p := range planes {
		group.Go(func() {
			if err := p.start(ctx, w); err != nil {
				sup.log.Printf("%s: %v", p.name, err)
				return
			}
			sup.log.Printf("%s is ready at %s", p.name, p.controlPlane().URL)
			if p.name == Management {
				group.Go(func() { sup.startServices(ctx, onceUp, p.controlPlane(), w) })
				sup.setUp(ctx, p.controlPlane(), w)
			}
		})
	}
	group.Wait()
	if cp := management.controlPlane(); cp != nil && management.allReady() {
		sup.startServices(ctx, onceAllAreUp, cp, w)
	}

	sup.mu.Lock()
	defer sup.mu.Unlock()
	slices.SortFunc(sup.planes, comparePlanes)
	sup.settled = true
}

// setUp applies the manifests and names the plugins, then starts the programs that need them.
// Where that changed something they are started again: a ServiceAccount that
// was deleted with its namespace took its tokens along, and kinds are looked
// up once.
func (sup *supervisor) setUp(ctx context.Context, cp *devstack.ControlPlane, w Wanted) {
	changed, err := sup.setup.apply(ctx, cp)
	if err != nil {
		sup.log.Print(err)
		return
	}
	if w.Operator {
		if err := sup.plugins.apply(ctx, cp); err != nil {
			sup.log.Print(err)
		}
	}
	if changed {
		for _, u := range sup.units {
			if u.stage == onceSetUp {
				u.end()
			}
		}
	}
	sup.startServices(ctx, onceSetUp, cp, w)
}

// startServices starts those of one stage that are wanted, and stops the others.
func (sup *supervisor) startServices(ctx context.Context, at stage, cp *devstack.ControlPlane, w Wanted) {
	for _, u := range sup.units {
		if u.stage != at {
			continue
		}
		if !u.wanted(w) {
			u.stop(ctx)
			continue
		}
		if err := u.start(ctx, cp, w); err != nil {
			sup.log.Print(err)
		}
	}
}

// comparePlanes orders them as people are shown them: management first.
func comparePlanes(a, b *plane) int {
	switch {
	case a.name == Management:
		return -1
	case b.name == Management:
		return 1
	}
	return strings.Compare(a.name, b.name)
}

// stopAll ends everything, the programs before what they talk to.
func (sup *supervisor) stopAll(ctx context.Context) {
	for _, u := range slices.Backward(sup.units) {
		u.stop(ctx)
	}
	var group sync.WaitGroup
	for _, p := range sup.planes {
		group.Go(p.stop)
	}
	group.Wait()
	sup.launcher.Close()
}
