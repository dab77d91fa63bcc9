// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubelet

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/hack/node/internal/record"
)

const log = `2026-01-01T00:00:01.5Z stdout F one
2026-01-01T00:00:02Z stderr F two  with  spaces
2026-01-01T00:00:03Z stdout P long
2026-01-01T00:00:03Z stdout P er
2026-01-01T00:00:03Z stdout F  line
2026-01-01T00:00:04Z stdout F 
2026-01-01T00:00:05Z stdout P open end
`

func TestCopy(t *testing.T) {
	cases := map[string]struct {
		reason string
		opts   api.ContainerLogOpts
		want   string
	}{
		"All":        {"everything, as it was printed", api.ContainerLogOpts{}, "one\ntwo  with  spaces\nlonger line\n\nopen end"},
		"Tail":       {"the last lines, the one without an end among them", api.ContainerLogOpts{Tail: 3}, "longer line\n\nopen end"},
		"TailLong":   {"more lines than there are", api.ContainerLogOpts{Tail: 99}, "one\ntwo  with  spaces\nlonger line\n\nopen end"},
		"Limit":      {"no more bytes than asked for", api.ContainerLogOpts{LimitBytes: 6}, "one\ntw"},
		"Since":      {"nothing from before a time", api.ContainerLogOpts{SinceTime: time.Date(2026, 1, 1, 0, 0, 3, 0, time.UTC)}, "longer line\n\nopen end"},
		"Timestamps": {"a time a line, and none inside of one", api.ContainerLogOpts{Tail: 3, Timestamps: true}, "2026-01-01T00:00:03Z longer line\n2026-01-01T00:00:04Z \n2026-01-01T00:00:05Z open end"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if err := skip(file, tc.opts.Tail); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			c := copier{out: &out, opts: tc.opts, left: tc.opts.LimitBytes, since: since(tc.opts)}
			if err := c.copy(t.Context(), file, func() bool { return true }); err != nil || out.String() != tc.want {
				t.Errorf("%s: got %q, %v", tc.reason, out.String(), err)
			}
		})
	}
}

func TestWhichStart(t *testing.T) {
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	cases := map[string]struct {
		reason   string
		status   corev1.ContainerStatus
		previous bool
		want     int
		err      bool
	}{
		"First":           {reason: "the first start", status: corev1.ContainerStatus{State: running}},
		"NoPrevious":      {reason: "the first start has none before it", status: corev1.ContainerStatus{State: running}, previous: true, err: true},
		"Third":           {reason: "the latest start", status: corev1.ContainerStatus{RestartCount: 2, State: running, LastTerminationState: over}, want: 2},
		"PreviousOfThird": {reason: "the start before the latest", status: corev1.ContainerStatus{RestartCount: 2, State: running, LastTerminationState: over}, previous: true, want: 1},
		"Waiting":         {reason: "the start that just ended is the latest", status: corev1.ContainerStatus{RestartCount: 1, State: waiting, LastTerminationState: over}, want: 1},
		"PreviousWaiting": {reason: "and also the previous one", status: corev1.ContainerStatus{RestartCount: 1, State: waiting, LastTerminationState: over}, previous: true, want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			folder := record.Of(t.TempDir(), "uid")
			if err := folder.Make(); err != nil {
				t.Fatal(err)
			}
			tc.status.Name = "main"
			if err := folder.WriteStatus(record.Status{Pod: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{tc.status}}}); err != nil {
				t.Fatal(err)
			}
			got, err := which(folder, "main", tc.previous)
			if got != tc.want && err == nil || (err != nil) != tc.err {
				t.Errorf("%s: got %d, %v", tc.reason, got, err)
			}
		})
	}
}
