// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package supervisor runs one pod: its init containers one after the other, its
// containers side by side, their probes, restarts and end.
//
// A supervisor is a process of its own that outlives the node, so that a node can be
// killed and replaced while pods run on. It takes its orders from the pod's
// folder (package record) and leaves its answers there. It runs a pod at most once in the pod's
// life: Run takes the pod's lock, then writes down that the pod begins, and where
// that has been written before it runs nothing, whatever became of the one who did.
// When it is killed the kernel ends all its containers with it.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/hack/node/internal/box"
	"darkshift.io/infrared/hack/node/internal/record"
)

// pod is the one pod of a supervisor.
type pod struct {
	folder   record.Folder
	plan     record.Plan
	launcher *box.Launcher
	now      func() time.Time

	// stopping ends when the pod is to end; nothing is started after that.
	stopping context.Context //nolint:containedctx // it is a state that all containers wait for, not a call's
	stopNow  context.CancelFunc

	mu         sync.Mutex // before all that follows, and status files are written under it
	init, main []*container
	stop       *record.Stop
	kill       *time.Timer // sends SIGKILL when the grace is over
	conditions []corev1.PodCondition
	ended      bool
}

// Run runs the pod of a folder to its end. It returns fs.ErrExist when the pod was
// begun before.
func Run(ctx context.Context, folder record.Folder, now func() time.Time) error {
	lock, err := folder.LockSupervisor()
	if err != nil {
		return fmt.Errorf("becoming the supervisor: %w", err)
	}
	defer lock.Close()
	plan, err := folder.Plan()
	if err != nil {
		return err
	}
	p := newPod(folder, plan, now)
	defer p.launcher.Close()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	if err := p.watchStop(watching, ctx); err != nil {
		return err
	}
	// Last of all that can fail: until here a next supervisor may try again.
	if err := folder.Begin(); err != nil {
		return err
	}
	p.publish()
	p.limitLife()
	p.run()
	return p.finish()
}

func newPod(folder record.Folder, plan record.Plan, now func() time.Time) *pod {
	p := &pod{folder: folder, plan: plan, launcher: box.NewLauncher(), now: now}
	// Not from the caller's context: its end is an order to stop with all grace.
	p.stopping, p.stopNow = context.WithCancel(context.Background()) //nolint:forbidigo // see above
	for i, c := range plan.InitContainers {
		p.init = append(p.init, newContainer(p, c, plan.Pod.Spec.InitContainers[i], "PodInitializing"))
	}
	waiting := "ContainerCreating"
	if len(p.init) > 0 {
		waiting = "PodInitializing"
	}
	for i, c := range plan.Containers {
		p.main = append(p.main, newContainer(p, c, plan.Pod.Spec.Containers[i], waiting))
	}
	return p
}

// run returns when no container runs and none will.
func (p *pod) run() {
	for _, c := range p.init {
		if !p.runInit(c) {
			return
		}
	}
	var all sync.WaitGroup
	for _, c := range p.main {
		all.Go(func() { c.run(p.restartsMain) })
	}
	all.Wait()
}

// runInit runs an init container until it succeeds. It says whether it did.
func (p *pod) runInit(c *container) bool {
	c.run(func(code int32) bool { return code != 0 && p.plan.Pod.Spec.RestartPolicy != corev1.RestartPolicyNever })
	p.mu.Lock()
	defer p.mu.Unlock()
	t := c.status.State.Terminated
	return t != nil && t.ExitCode == 0 && p.stop == nil
}

// restartsMain says whether a container that ended with a code is started again.
func (p *pod) restartsMain(code int32) bool {
	switch p.plan.Pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	default:
		return true
	}
}

// finish writes the last status and removes what only running containers need.
func (p *pod) finish() error {
	p.mu.Lock()
	p.ended = true
	if p.kill != nil {
		p.kill.Stop()
	}
	p.mu.Unlock()
	p.stopNow()
	if err := p.folder.RemoveScratch(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.folder.WriteStatus(p.statusLocked())
}

// publish writes the status as it is now.
func (p *pod) publish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publishLocked()
}

// publishLocked complains and goes on where the disk is full: the programs that
// run are worth more than what is known of them, and the next write tells all.
func (p *pod) publishLocked() {
	if err := p.folder.WriteStatus(p.statusLocked()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, err)
	}
}
