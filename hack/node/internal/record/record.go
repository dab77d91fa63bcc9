// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package record is what the node and a pod's supervisor tell each other, in
// files of one folder a pod.
//
//	plan.json      node to supervisor: all that has to run; written once
//	stop.json      node to supervisor: end it now; may come again with less time
//	volumes/       node to containers
//	run/lock       held by the supervisor for as long as it lives
//	run/began      made once, before the first program: nobody starts the pod again
//	run/status.json  supervisor to node: how the pod is, and whether it has ended
//	logs/          what containers printed, a file for each start
//
// Files, because both sides can be killed at any moment: each finds all there
// is to know when it comes back, and neither waits for the other. Every file is
// replaced whole. The lock tells whether a supervisor lives; a number of a process would not,
// as numbers are used again.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/hack/node/internal/box"
)

// Container is one container, ready to run.
type Container struct {
	Name  string
	Image string
	// Box lacks the root folder, which each start gets anew.
	Box box.Spec
}

// Plan is all that a supervisor needs to know.
type Plan struct {
	Pod            *corev1.Pod
	PodIP          string
	InitContainers []Container
	Containers     []Container
	// Backoff is the wait before the second restart of a container; it doubles
	// up to 30 times as much.
	Backoff metav1.Duration
}

// Stop asks a supervisor to end its pod.
type Stop struct {
	// GraceSeconds is the time between SIGTERM and SIGKILL.
	GraceSeconds int64
	// Reason and Message become those of the pod, where they are not empty.
	Reason, Message string `json:",omitempty"`
}

// Process names a process of this machine for good: the number alone is used
// again.
type Process struct {
	PID int
	// Start is its start time in clock ticks since boot.
	Start uint64
}

// Status is how a pod is, in its supervisor's words.
type Status struct {
	// Pod has the phase, the conditions and the containers; the addresses and
	// what only the node knows are not set.
	Pod corev1.PodStatus
	// Running are the first processes of the containers that run.
	Running []Process `json:",omitempty"`
	// Ended says that nothing runs any more and nothing will.
	Ended bool
}

// Folder is the folder of one pod.
type Folder string

// Pods is the folder that holds the folders of all pods, under their UIDs.
func Pods(root string) string { return filepath.Join(root, "pods") }

// Of is the folder of a pod.
func Of(root string, uid types.UID) Folder { return Folder(filepath.Join(Pods(root), string(uid))) }

// All lists the pods that have a folder.
func All(root string) ([]types.UID, error) {
	entries, err := os.ReadDir(Pods(root))
	if err != nil {
		return nil, fmt.Errorf("listing the pods of this machine: %w", err)
	}
	var uids []types.UID
	for _, e := range entries {
		uids = append(uids, types.UID(e.Name()))
	}
	return uids, nil
}

func (f Folder) path(elem ...string) string {
	return filepath.Join(append([]string{string(f)}, elem...)...)
}

// RunDir is the folder in which the supervisor's answers appear.
func (f Folder) RunDir() string { return f.path("run") }

// Volume is the folder of one volume.
func (f Folder) Volume(name string) string { return f.path("volumes", name) }

// Log is the file with what one start of a container printed.
func (f Folder) Log(container string, start int) string {
	return f.path("logs", container, strconv.Itoa(start)+".log")
}

// Scratch holds the root folder and the termination message of one start.
func (f Folder) Scratch(container string, start int) string {
	return f.path("containers", container, strconv.Itoa(start))
}

// SupervisorLog is where a supervisor complains.
func (f Folder) SupervisorLog() string { return f.path("supervisor.log") }

// Make makes the folder.
func (f Folder) Make() error {
	for _, dir := range []string{f.RunDir(), f.path("volumes"), f.path("logs"), f.path("containers")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the pod's folder: %w", err)
		}
	}
	return nil
}

// WritePlan writes the plan. From then on a supervisor may be started.
func (f Folder) WritePlan(p Plan) error { return f.write("plan.json", p) }

// Plan reads the plan; fs.ErrNotExist when there is none yet.
func (f Folder) Plan() (Plan, error) {
	var p Plan
	return p, f.read("plan.json", &p)
}

// WriteStop asks the supervisor to end the pod.
func (f Folder) WriteStop(s Stop) error { return f.write("stop.json", s) }

// Stop reads what was asked for, and whether it was.
func (f Folder) Stop() (Stop, bool, error) {
	var s Stop
	err := f.read("stop.json", &s)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	return s, err == nil, err
}

// WriteStatus replaces the status.
func (f Folder) WriteStatus(s Status) error { return f.write("run/status.json", s) }

// Status reads the status, and whether there is one.
func (f Folder) Status() (Status, bool, error) {
	var s Status
	err := f.read("run/status.json", &s)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	return s, err == nil, err
}

// Begin writes down that the pod is about to run. It succeeds once in the
// pod's life; after that it returns fs.ErrExist.
func (f Folder) Begin() error {
	file, err := os.OpenFile(f.path("run", "began"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing down that the pod begins: %w", err)
	}
	defer file.Close()
	// The machine may crash, and the pod must not run again when it is back.
	if err := file.Sync(); err != nil {
		return fmt.Errorf("writing down that the pod begins: %w", err)
	}
	return syncFolder(f.RunDir())
}

// Began says whether Begin was called.
func (f Folder) Began() bool {
	_, err := os.Stat(f.path("run", "began"))
	return err == nil
}

func (f Folder) read(name string, into any) error {
	data, err := os.ReadFile(f.path(name))
	if err != nil {
		return fmt.Errorf("reading a pod's record: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("reading a pod's record %s: %w", name, err)
	}
	return nil
}

// write replaces a file whole, so that a reader sees the old one or the new one.
func (f Folder) write(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a pod's record %s: %w", name, err)
	}
	path := f.path(name)
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return fmt.Errorf("writing a pod's record: %w", err)
	}
	defer temp.Close()
	if _, err := temp.Write(data); err != nil {
		return fmt.Errorf("writing a pod's record: %w", err)
	}
	if err := temp.Sync(); err != nil {
		return fmt.Errorf("writing a pod's record: %w", err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return fmt.Errorf("writing a pod's record: %w", err)
	}
	return nil
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a pod's folder: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("writing a pod's folder to disk: %w", err)
	}
	return nil
}
