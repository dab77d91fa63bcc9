// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/hack/node/internal/record"
)

// stepSupervised makes sure that a planned pod has what it needs: a supervisor
// when it was never begun, nothing when it runs or has ended, and a verdict when
// its supervisor was killed.
func (w *worker) stepSupervised() (record.Status, error) {
	if w.supervised() {
		status, _, err := w.folder.Status()
		return status, err
	}
	status, _, err := w.folder.Status()
	if err != nil || status.Ended {
		return status, err
	}
	if w.folder.Began() {
		return w.lose(status)
	}
	_, stop, err := w.folder.Stop()
	if err != nil {
		return status, err
	}
	if !stop {
		return status, w.spawn()
	}
	// Nobody has begun the pod, and from here on nobody can: a supervisor that
	// is just starting finds that we were first.
	if err := w.folder.Begin(); errors.Is(err, fs.ErrExist) {
		w.wake()
		return status, nil
	} else if err != nil {
		return status, err
	}
	status = record.Status{Pod: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "NeverStarted", Message: "the pod was to end before it had started"}, Ended: true}
	return status, w.folder.WriteStatus(status)
}

// supervised says whether a supervisor lives or is just starting, and sees to it
// that we are woken when it ends.
func (w *worker) supervised() bool {
	if alive(w.spawned) || alive(w.following) {
		return true
	}
	lives, err := w.folder.Supervised()
	if err != nil {
		// Taken for alive: whatever is wrong, starting a second one is worse.
		w.agent.Log.Error("looking for a pod's supervisor", "uid", w.uid, "error", err)
		return true
	}
	if !lives {
		return false
	}
	ended := make(chan struct{})
	w.following = ended
	go func() {
		defer w.wake()
		defer close(ended)
		if err := w.folder.WaitSupervisor(); err != nil {
			w.agent.Log.Error("waiting for a pod's supervisor", "uid", w.uid, "error", err)
		}
	}()
	return true
}

func alive(ended chan struct{}) bool {
	if ended == nil {
		return false
	}
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// spawn starts the supervisor in a session of its own, so that nothing that is
// sent to the node's terminal or process group reaches it.
func (w *worker) spawn() error {
	if w.spawned != nil {
		w.spawned = nil
		return errors.New("the pod's supervisor ended before it began: its last words are in supervisor.log in the pod's folder")
	}
	log, err := os.OpenFile(w.folder.SupervisorLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the supervisor's log: %w", err)
	}
	defer log.Close()
	command := append(w.agent.Supervisor[:len(w.agent.Supervisor):len(w.agent.Supervisor)], string(w.folder))
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	ended := make(chan struct{})
	w.spawned = ended
	go func() {
		defer w.wake()
		defer close(ended)
		_ = cmd.Wait() // how it ended is judged by what it left
	}()
	return nil
}

// lose ends a pod whose supervisor was killed. Its containers were killed with it;
// only when the last is gone may anybody hear that the pod has failed.
func (w *worker) lose(status record.Status) (record.Status, error) {
	for _, p := range status.Running {
		if p.Alive() {
			kill(p)
			return status, errors.New("the supervisor was killed, and a container still runs")
		}
	}
	now := metav1.NewTime(w.agent.Now())
	loseContainers(status.Pod.InitContainerStatuses, now)
	loseContainers(status.Pod.ContainerStatuses, now)
	for i, c := range status.Pod.Conditions {
		if (c.Type == corev1.ContainersReady || c.Type == corev1.PodReady) && c.Status == corev1.ConditionTrue {
			status.Pod.Conditions[i].Status, status.Pod.Conditions[i].LastTransitionTime = corev1.ConditionFalse, now
			status.Pod.Conditions[i].Reason = "PodFailed"
		}
	}
	status.Pod.Phase, status.Pod.Reason = corev1.PodFailed, "SupervisorLost"
	status.Pod.Message = "the process that supervised the pod was killed, and its containers with it: they are not started again, as nobody knows how far they came"
	status.Ended, status.Running = true, nil
	if err := w.folder.WriteStatus(status); err != nil {
		return status, err
	}
	return status, w.folder.RemoveScratch()
}

// kill sends SIGKILL to this very process and to no other with its number.
func kill(p record.Process) {
	process, err := os.FindProcess(p.PID)
	if err != nil {
		return
	}
	defer func() { _ = process.Release() }()
	// The handle is taken: if it is still the one now, it is the one we hold.
	if p.Alive() {
		_ = process.Kill()
	}
}

func loseContainers(list []corev1.ContainerStatus, now metav1.Time) {
	for i := range list {
		c := &list[i]
		if c.State.Terminated != nil {
			continue
		}
		lost := &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "its supervisor was killed", ContainerID: c.ContainerID, FinishedAt: now,
		}
		if c.State.Running != nil {
			lost.StartedAt = c.State.Running.StartedAt
		}
		c.State = corev1.ContainerState{Terminated: lost}
		c.Ready, c.Started = false, new(bool)
	}
}
