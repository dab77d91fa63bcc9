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
	applied string // identities of the objects, as they were after the last time
	readyAt time.Time
	err     error
}

// apply applies the manifests and waits until the new kinds can be used. It
// does so each time, because people delete and edit what is on a server. It
// says whether that changed anything.
func (s *setup) apply(ctx context.Context, cp *devstack.ControlPlane) (changed bool, err error) {
	paths, err := s.stack.manifests()
	if err != nil || len(paths) == 0 {
		return false, err
	}
	s.set(func() { s.busy, s.err = true, nil })
	now, err := s.applyManifests(ctx, cp, paths)
	s.set(func() {
		s.busy, s.err = false, err
		changed = err == nil && s.applied != now
		if changed {
			s.applied, s.readyAt = now, time.Now()
		}
	})
	return changed, err
}

// applyManifests hands all of them to kubectl at once: most of the time that
// it takes is its own start. It gives the identities of the objects; the log
// names them, or has what kubectl printed instead.
func (s *setup) applyManifests(ctx context.Context, cp *devstack.ControlPlane, paths []string) (string, error) {
	args := []string{"apply", "--server-side", "--force-conflicts", "--field-manager=" + fieldManager, "--output=json", "--show-managed-fields"}
	for _, p := range paths {
		args = append(args, "--filename="+p)
	}
	output, err := cp.Kubectl(ctx, args...)
	if err != nil {
		if logErr := folder.WriteFile(s.log(), []byte(output)); logErr != nil {
			return "", logErr
		}
		return "", fmt.Errorf("applying the manifests: %s", complaint(output, err))
	}
	objects, err := readApplied(output)
	if err != nil {
		return "", err
	}
	var names, identities strings.Builder
	for _, a := range objects {
		fmt.Fprintln(&names, "applied", a)
		fmt.Fprintln(&identities, a.identity())
	}
	if err := folder.WriteFile(s.log(), []byte(names.String())); err != nil {
		return "", err
	}
	if err := checkStaying(objects); err != nil {
		return "", err
	}
	return identities.String(), cp.WaitCRDs(ctx)
}

// complaint is the first line that kubectl printed about what it could not do.
func complaint(output string, err error) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Warning:") {
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
