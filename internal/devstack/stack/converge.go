// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// converge starts what is wanted and doesn't run: the control planes side by
// side, and on the management one its manifests and then the programs. What
// fails is described by its rows and in the log; the rest goes on.
func (sup *supervisor) converge(ctx context.Context, w Wanted) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	sup.mu.Lock()
	planes := slices.Clone(sup.planes)
	sup.mu.Unlock()

	var group sync.WaitGroup
	for _, p := range planes {
		group.Go(func() {
			if err := p.start(ctx, w.NewPorts); err != nil {
				sup.log.Printf("%s: %v", p.name, err)
				return
			}
			sup.log.Printf("%s is ready at %s", p.name, p.controlPlane().URL)
			if p.name == Management {
				sup.startClients(ctx, p, w)
			}
		})
	}
	group.Wait()

	sup.mu.Lock()
	defer sup.mu.Unlock()
	slices.SortFunc(sup.planes, comparePlanes)
	sup.settled = true
}

// startClients applies the manifests and names the plugins, then starts the programs that need them.
// Where that changed something they are started again: a ServiceAccount that
// was deleted with its namespace took its tokens along, and kinds are looked
// up once.
func (sup *supervisor) startClients(ctx context.Context, management *plane, w Wanted) {
	cp := management.controlPlane()
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
	for _, c := range sup.clients {
		if changed || !c.wanted(w) {
			c.stop()
		}
		if !c.wanted(w) {
			continue
		}
		if err := c.start(ctx, cp); err != nil {
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
func (sup *supervisor) stopAll() {
	for _, c := range sup.clients {
		c.stop()
	}
	var group sync.WaitGroup
	for _, p := range sup.planes {
		group.Go(p.stop)
	}
	group.Wait()
	sup.launcher.Close()
}
