// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"darkshift.io/infrared/internal/devstack"
)

// plugins names each compiled plugin to the operator, by an object Provider with
// its SHA-256. Only one goroutine calls apply; rows may be called at any time.
type plugins struct {
	stack *Stack

	mu      sync.Mutex
	busy    bool
	applied string // identities of the Providers, as they were after the last time
	readyAt time.Time
	err     error
}

// apply makes a Provider for each plugin in the folder, or gives it the SHA-256
// that its file has now. One whose plugin is gone stays, and says so itself.
func (p *plugins) apply(ctx context.Context, cp *devstack.ControlPlane) error {
	names, err := p.stack.plugins()
	if err != nil || len(names) == 0 {
		p.set(func() { p.applied, p.err = "", err })
		return err
	}
	p.set(func() { p.busy, p.err = true, nil })
	now, err := p.applyAll(ctx, cp, names)
	p.set(func() {
		p.busy, p.err = false, err
		if err == nil && p.applied != now {
			p.applied, p.readyAt = now, time.Now()
		}
	})
	return err
}

func (p *plugins) applyAll(ctx context.Context, cp *devstack.ControlPlane, names []string) (string, error) {
	var identities strings.Builder
	for _, name := range names {
		sum, err := sha256Of(filepath.Join(p.stack.pluginFolder(), name))
		if err != nil {
			return "", fmt.Errorf("reading the plugin %s: %w", name, err)
		}
		var now applied
		err = cp.Apply(ctx, "/apis/infrared.darkshift.io/v1alpha1/providers/"+name, fieldManager, map[string]any{
			"apiVersion": "infrared.darkshift.io/v1alpha1", "kind": "Provider",
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"binary": name, "sha256": sum},
		}, &now)
		if err != nil {
			return "", err
		}
		if err := checkStaying([]applied{now}); err != nil {
			return "", err
		}
		fmt.Fprintln(&identities, now.identity())
	}
	return identities.String(), nil
}

// plugins lists the names of the compiled plugins, sorted.
func (s *Stack) plugins() ([]string, error) {
	if s.Repo == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.pluginFolder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for plugins: %w", err)
	}
	var names []string
	for _, e := range entries {
		// Whatever else lies there is no program, or hidden, such as an editor's copy, and so is no plugin.
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func sha256Of(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (p *plugins) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// rows describes the Providers; nothing when there are no plugins.
func (p *plugins) rows() []Component {
	p.mu.Lock()
	defer p.mu.Unlock()
	row := Component{Cluster: Management, Name: "providers", ReadyAt: p.readyAt}
	switch {
	case p.busy:
		row.Phase = Starting
	case p.err != nil:
		row.Phase, row.Reason = Failed, p.err.Error()
	case p.applied != "":
		row.Phase = Ready
	default:
		return nil
	}
	return []Component{row}
}
