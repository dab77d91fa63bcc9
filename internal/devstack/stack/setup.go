// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
)

// setup puts the project's manifests onto the management control plane. Only
// one goroutine calls apply; rows may be called at any time.
type setup struct {
	stack *Stack

	mu      sync.Mutex
	busy    bool
	applied string // digest of the inputs that were applied last
	readyAt time.Time
	err     error
}

// apply applies what changed since the last time and waits until the new
// kinds can be used.
func (s *setup) apply(ctx context.Context, cp *devstack.ControlPlane, inputs string) error {
	paths, err := s.stack.manifests()
	if err != nil {
		return err
	}
	s.mu.Lock()
	same := s.applied == inputs
	s.mu.Unlock()
	if same || len(paths) == 0 {
		return nil
	}
	s.set(func() { s.busy, s.err = true, nil })
	err = s.applyManifests(ctx, cp, paths)
	s.set(func() {
		s.busy, s.err = false, err
		if err == nil {
			s.applied, s.readyAt = inputs, time.Now()
		}
	})
	return err
}

// applyManifests hands all of them to kubectl at once: most of the time that
// it takes is its own start. What it printed is in the log.
func (s *setup) applyManifests(ctx context.Context, cp *devstack.ControlPlane, paths []string) error {
	args := []string{"apply", "--server-side", "--force-conflicts", "--field-manager=ir-dev"}
	for _, p := range paths {
		args = append(args, "--filename="+p)
	}
	output, err := cp.Kubectl(ctx, args...)
	if logErr := folder.WriteFile(s.log(), []byte(output)); logErr != nil {
		return logErr
	}
	if err != nil {
		return fmt.Errorf("applying the manifests: %s", complaint(output, err))
	}
	return cp.WaitCRDs(ctx)
}

// complaint is the first line that kubectl printed about what it could not do.
func complaint(output string, err error) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasSuffix(line, "serverside-applied") && !strings.HasPrefix(line, "Warning:") {
			return cut(line)
		}
	}
	return cut(err.Error())
}

// cut keeps a reason to one readable line; the log has all of it.
func cut(line string) string {
	const runes = 300
	if r := []rune(line); len(r) > runes {
		return string(r[:runes]) + "…"
	}
	return line
}

func (s *setup) log() string {
	return filepath.Join(s.stack.clusterDir(Management), "logs", "manifests.log")
}

func (s *setup) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// rows describes the manifests; nothing when there are none.
func (s *setup) rows() []Component {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := Component{Cluster: Management, Name: "manifests", Log: s.log(), ReadyAt: s.readyAt}
	switch {
	case s.busy:
		row.Phase = Starting
	case s.err != nil:
		row.Phase, row.Reason = Failed, s.err.Error()
	case s.applied != "":
		row.Phase = Ready
	default:
		return nil
	}
	return []Component{row}
}
