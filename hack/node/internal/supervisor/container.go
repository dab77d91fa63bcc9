// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/hack/node/internal/box"
	"darkshift.io/infrared/hack/node/internal/record"
)

// container is one container over all its starts.
type container struct {
	pod  *pod
	plan record.Container
	spec corev1.Container

	// The rest is guarded by the pod's mutex.
	status  corev1.ContainerStatus
	box     *box.Box       // the program that runs now
	process record.Process // its first process
	passed  bool           // its readiness probe passed last
	verdict string         // why we ended it ourselves
}

func newContainer(p *pod, plan record.Container, spec corev1.Container, waiting string) *container {
	c := &container{pod: p, plan: plan, spec: spec}
	c.status = corev1.ContainerStatus{
		Name: plan.Name, Image: plan.Image, ImageID: plan.Image, Started: new(bool),
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}},
	}
	return c
}

// run starts the container, and again for as long as restarts says so of its exit
// code, until the pod is to end.
func (c *container) run(restarts func(code int32) bool) {
	wait := time.Duration(0)
	for start := 0; c.pod.stopping.Err() == nil; start++ {
		began := c.pod.now()
		ended := c.once(start)
		if ended == nil || !restarts(ended.ExitCode) || c.pod.stopping.Err() != nil {
			return
		}
		first, most := c.pod.plan.Backoff.Duration, 30*c.pod.plan.Backoff.Duration
		if c.pod.now().Sub(began) > 2*most {
			wait = 0 // it ran well for a while
		}
		if !c.pause(ended, wait) {
			return
		}
		wait = min(max(2*wait, first), most)
	}
}

// pause shows that the container will be started again, and waits. It says
// whether to go on.
func (c *container) pause(ended *corev1.ContainerStateTerminated, wait time.Duration) bool {
	c.change(func() {
		c.status.LastTerminationState = corev1.ContainerState{Terminated: ended}
		if wait > 0 {
			c.status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: fmt.Sprintf("it is started again %s after it ended", wait),
			}}
		}
	})
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.pod.stopping.Done():
		// It did end, whatever was planned for it.
		c.change(func() { c.status.State = corev1.ContainerState{Terminated: ended} })
		return false
	}
}

// once starts the container and returns how it ended; nil when it never began
// because the pod is to end.
func (c *container) once(start int) *corev1.ContainerStateTerminated {
	dir := c.pod.folder.Scratch(c.plan.Name, start)
	defer func() {
		if err := record.Remove(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	began := metav1.NewTime(c.pod.now())
	id := fmt.Sprintf("process://%s/%s/%d", c.pod.plan.Pod.UID, c.plan.Name, start)
	c.change(func() {
		c.status.ContainerID, c.status.RestartCount, c.passed, c.verdict = id, int32(start), false, ""
	})
	exit, err := c.inBox(dir, start)
	if errors.Is(err, errStopping) {
		return nil
	}
	ended := &corev1.ContainerStateTerminated{
		ExitCode: int32(exit.Code), Reason: "Completed", StartedAt: began, FinishedAt: metav1.NewTime(c.pod.now()), ContainerID: id,
	}
	switch {
	case err != nil:
		// 128 is what the kubelet shows for a program that could not be started.
		ended.ExitCode, ended.Reason, ended.Message = 128, "StartError", err.Error()
	case exit.Code != 0:
		ended.Reason = "Error"
	}
	if err == nil {
		ended.Message = c.lastWords(dir, start, exit)
	}
	c.change(func() {
		if ended.Message == "" {
			ended.Message = c.verdict
		}
		c.status.State = corev1.ContainerState{Terminated: ended}
		c.status.Started = new(bool)
	})
	return ended
}

// errStopping says that a container was not started because the pod is to end.
var errStopping = errors.New("the pod is to end")

// inBox runs the program to its end.
func (c *container) inBox(dir string, start int) (box.Exit, error) {
	spec, err := c.prepare(dir)
	if err != nil {
		return box.Exit{}, err
	}
	out, err := openLog(c.pod.folder.Log(c.plan.Name, start), c.pod.now)
	if err != nil {
		return box.Exit{}, err
	}
	defer out.close()
	b, err := c.pod.launcher.Start(spec, out.stdout, out.stderr)
	out.started()
	if err != nil {
		return box.Exit{}, err
	}
	if err := c.begin(b); err != nil {
		b.Kill()
		b.Wait()
		c.change(func() { c.box = nil })
		return box.Exit{}, err
	}
	probing, stopProbing := context.WithCancel(c.pod.stopping)
	var probes sync.WaitGroup
	probes.Go(func() { c.probe(probing, b) })
	exit := b.Wait()
	stopProbing()
	probes.Wait()
	// Whoever sees that the container has ended may read all it printed.
	out.drained()
	c.change(func() { c.box = nil })
	return exit, nil
}

// begin lets the program run, unless the pod is to end. Its first process is
// written down before, so that a node that outlives us can see it gone.
func (c *container) begin(b *box.Box) error {
	process, _ := record.Look(b.PID)
	c.pod.mu.Lock()
	if c.pod.stop != nil {
		c.pod.mu.Unlock()
		return errStopping
	}
	c.box, c.process = b, process
	c.pod.publishLocked()
	c.pod.mu.Unlock()
	if err := b.Go(); err != nil {
		return err
	}
	c.change(func() {
		c.status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.pod.now())}}
		started := c.spec.StartupProbe == nil
		c.status.Started = &started
		c.passed = c.spec.ReadinessProbe == nil
	})
	return nil
}

// prepare makes the folders of one start.
func (c *container) prepare(dir string) (box.Spec, error) {
	spec := c.plan.Box
	spec.Root = filepath.Join(dir, "root")
	if err := os.MkdirAll(spec.Root, 0o755); err != nil {
		return spec, fmt.Errorf("making the root folder: %w", err)
	}
	message := filepath.Join(dir, "message")
	if err := os.WriteFile(message, nil, 0o666); err != nil {
		return spec, fmt.Errorf("making the termination message: %w", err)
	}
	if err := os.Chmod(message, 0o666); err != nil {
		return spec, fmt.Errorf("making the termination message: %w", err)
	}
	spec.Mounts = append(spec.Mounts[:len(spec.Mounts):len(spec.Mounts)], box.Mount{Source: message, Target: c.messagePath()})
	return spec, nil
}

func (c *container) messagePath() string {
	if c.spec.TerminationMessagePath != "" {
		return c.spec.TerminationMessagePath
	}
	return corev1.TerminationMessagePathDefault
}

// lastWords is the container's termination message.
func (c *container) lastWords(dir string, start int, exit box.Exit) string {
	const most = 4096
	data, err := os.ReadFile(filepath.Join(dir, "message"))
	if err != nil {
		return ""
	}
	if len(data) == 0 && exit.Code != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		return tail(c.pod.folder.Log(c.plan.Name, start))
	}
	return strings.ToValidUTF8(string(data[:min(len(data), most)]), "")
}

// end ends the container alone. Whether it is started again is for its pod's
// restart policy.
func (c *container) end(b *box.Box, grace time.Duration, why string) {
	c.change(func() { c.verdict = why })
	b.Signal(syscall.SIGTERM)
	time.AfterFunc(grace, func() {
		c.pod.mu.Lock()
		defer c.pod.mu.Unlock()
		if c.box == b {
			b.Kill()
		}
	})
}

// change changes the container's state and publishes the pod's.
func (c *container) change(f func()) {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	f()
	c.pod.publishLocked()
}
