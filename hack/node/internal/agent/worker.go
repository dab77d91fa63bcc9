// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/hack/node/internal/record"
)

// worker looks after one pod from when it is bound to the node until its object
// and its folder are gone. It is woken by news of the object, of the folder and
// of the supervisor, and each time looks at all of them anew.
type worker struct {
	agent  *Agent
	uid    types.UID
	folder record.Folder
	woken  chan struct{}

	mu   sync.Mutex
	last *corev1.Pod // the object as it was seen last; nil when never
	lost bool        // the object is gone

	// The rest belongs to the worker's own goroutine.
	watched   bool
	spawned   chan struct{} // closed when the supervisor that we started ended
	following chan struct{} // closed when the supervisor that we found ended
	attempts  int           // failed preparations in a row
	refreshed time.Time
}

func newWorker(a *Agent, uid types.UID) *worker {
	return &worker{agent: a, uid: uid, folder: record.Of(a.Root, uid), woken: make(chan struct{}, 1)}
}

// tell hands news of the object over. With gone set the pod is the object's last
// state, or nil.
func (w *worker) tell(pod *corev1.Pod, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if pod != nil {
		w.last = pod
	}
	w.lost = gone
	w.wake()
}

func (w *worker) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// object is the object as last seen, and whether it is gone.
func (w *worker) object() (*corev1.Pod, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.lost
}

// run takes step after step until nothing is left of the pod, or ctx ends.
func (w *worker) run(ctx context.Context) {
	failures := 0
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.woken:
		case <-timer.C:
		}
		timer.Stop()
		again, err := w.step(ctx)
		switch {
		case errors.Is(err, errDone):
			w.agent.tokens.drop(w.uid)
			w.agent.forget(w)
			return
		case err != nil && ctx.Err() == nil:
			w.agent.Log.Warn("looking after a pod", "uid", w.uid, "error", err)
			again = min(100*time.Millisecond<<min(failures, 6), 5*time.Second)
			failures++
		default:
			failures = 0
		}
		if again > 0 {
			timer.Reset(again)
		}
	}
}

// errDone says that nothing is left of the pod.
var errDone = errors.New("nothing is left of the pod")

// step compares the folder with the object and does what comes next. again is
// when to look again without being woken; 0 for never.
func (w *worker) step(ctx context.Context) (again time.Duration, err error) {
	pod, gone := w.object()
	if pod == nil && !gone {
		return 0, nil // the object will be seen in a moment
	}
	plan, err := w.folder.Plan()
	if errors.Is(err, fs.ErrNotExist) {
		return w.stepUnplanned(ctx, pod, gone)
	}
	if err != nil {
		return 0, err
	}
	if err := w.watch(); err != nil {
		return 0, err
	}
	if err := w.orderStop(pod, gone, plan); err != nil {
		return 0, err
	}
	status, err := w.stepSupervised()
	if err != nil {
		return 0, err
	}
	if !gone {
		if err := w.publish(ctx, pod, plan, status.Pod); err != nil {
			return 0, err
		}
	}
	switch {
	case !status.Ended:
		return w.refresh(ctx, pod, plan)
	case gone:
		return 0, w.remove()
	case pod.DeletionTimestamp != nil:
		return 0, w.release(ctx, pod)
	}
	return 0, nil // its logs are kept for as long as the object is there
}

// watch makes changes in the pod's folder wake us.
func (w *worker) watch() error {
	if w.watched {
		return nil
	}
	if err := w.agent.watcher.Add(w.folder.RunDir()); err != nil {
		return err
	}
	w.watched = true
	return nil
}

// orderStop tells the supervisor to end a pod that nobody wants any more. It may
// be told twice, with less time.
func (w *worker) orderStop(pod *corev1.Pod, gone bool, plan record.Plan) error {
	if !gone && pod.DeletionTimestamp == nil && !terminal(pod) {
		return nil
	}
	if status, _, err := w.folder.Status(); err != nil || status.Ended {
		return err
	}
	if pod == nil {
		pod = plan.Pod // its object went while no node was there
	}
	order := record.Stop{GraceSeconds: grace(pod)}
	before, asked, err := w.folder.Stop()
	if err != nil {
		return err
	}
	if asked && before.GraceSeconds <= order.GraceSeconds {
		return nil
	}
	return w.folder.WriteStop(order)
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// grace is how long a pod may take to end, in seconds.
func grace(pod *corev1.Pod) int64 {
	const unsaid = 30
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		return *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return unsaid
}

// remove removes the pod's folder, and with it the last of the pod.
func (w *worker) remove() error {
	if w.watched {
		_ = w.agent.watcher.Remove(w.folder.RunDir())
		w.watched = false
	}
	if err := w.folder.Remove(); err != nil {
		return err
	}
	return errDone
}
