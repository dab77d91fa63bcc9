// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"darkshift.io/infrared/hack/node/internal/record"
)

// defaultGrace is what Kubernetes gives a pod that doesn't say, in seconds.
const defaultGrace = 30

// watchStop follows the order to stop, as long as watching lasts. The end of
// signalled is such an order, too: somebody ends this machine's processes politely.
func (p *pod) watchStop(watching, signalled context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching for the order to stop: %w", err)
	}
	if err := watcher.Add(string(p.folder)); err != nil {
		_ = watcher.Close()
		return fmt.Errorf("watching for the order to stop: %w", err)
	}
	go func() {
		defer func() { _ = watcher.Close() }()
		p.readStop() // it may have come before the watch
		for {
			select {
			case <-watcher.Events:
				p.readStop()
			case err := <-watcher.Errors:
				fmt.Fprintln(os.Stderr, "watching for the order to stop:", err)
			case <-signalled.Done():
				p.end(record.Stop{GraceSeconds: p.grace(), Reason: "Terminated", Message: "the pod's supervisor was asked to end"})
				signalled = context.WithoutCancel(signalled)
			case <-watching.Done():
				return
			}
		}
	}()
	return nil
}

func (p *pod) readStop() {
	stop, asked, err := p.folder.Stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	if asked {
		p.end(stop)
	}
}

// grace is how long the pod may take to end, in seconds.
func (p *pod) grace() int64 {
	if s := p.plan.Pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return *s
	}
	return defaultGrace
}

// limitLife ends the pod when its activeDeadlineSeconds are over.
func (p *pod) limitLife() {
	seconds := p.plan.Pod.Spec.ActiveDeadlineSeconds
	if seconds == nil {
		return
	}
	since := p.now()
	if t := p.plan.Pod.Status.StartTime; t != nil {
		since = t.Time
	}
	left := since.Add(time.Duration(*seconds) * time.Second).Sub(p.now())
	time.AfterFunc(max(left, 0), func() {
		p.end(record.Stop{GraceSeconds: p.grace(), Reason: "DeadlineExceeded", Message: fmt.Sprintf("the pod was active for more than its %d seconds", *seconds)})
	})
}

// end makes all containers end: SIGTERM now, SIGKILL when the grace is over. A
// later order can only shorten the grace, and the first reason stays.
func (p *pod) end(stop record.Stop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	grace := time.Duration(stop.GraceSeconds) * time.Second
	if p.stop != nil {
		if stop.GraceSeconds < p.stop.GraceSeconds {
			p.stop.GraceSeconds = stop.GraceSeconds
			p.kill.Reset(grace)
		}
		return
	}
	p.stop = &stop
	p.signalLocked(syscall.SIGTERM)
	p.kill = time.AfterFunc(grace, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.signalLocked(syscall.SIGKILL)
	})
	p.stopNow()
}

func (p *pod) signalLocked(s syscall.Signal) {
	for _, list := range [][]*container{p.init, p.main} {
		for _, c := range list {
			if c.box != nil {
				c.box.Signal(s)
			}
		}
	}
}
