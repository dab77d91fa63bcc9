// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Release is a program of somebody else's, at one version. It is built in its own module, as its authors build it.
type Release struct {
	Module, Version string
	// Sum is the h1 hash of the module, as go.sum has it. Nothing in a go.sum of ours pins it, because no module of ours needs it.
	Sum string
	// Package is the program's, such as ./cmd/tofu.
	Package string
}

// source is the code of a program.
type source struct {
	dir     string // the folder of its module
	version string // what fills the templates of Stamp
	pkg     string // what to build there
	pin     string // all that tells one code from another, for code that lies in Go's module cache
}

// source finds the program's code, and downloads it where it is a release.
func (b Builder) source(ctx context.Context, p Program) (source, error) {
	if p.Release == nil {
		dir := filepath.Join(b.Root, p.Dir)
		version, err := moduleVersion(dir, p.VersionOf)
		return source{dir: dir, version: version, pkg: "."}, err
	}
	at := p.Release.Module + "@" + p.Release.Version
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", at)
	cmd.Dir = b.Root
	out, err := cmd.Output()
	var found struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &found); jsonErr == nil && found.Error != "" {
		return source{}, fmt.Errorf("downloading %s: %s", at, found.Error)
	}
	if err != nil {
		return source{}, fmt.Errorf("downloading %s: %w: %s", at, err, stderrOf(err))
	}
	if found.Sum != p.Release.Sum {
		return source{}, fmt.Errorf("%s is not the one that was pinned: its sum is %s, want %s", at, found.Sum, p.Release.Sum)
	}
	return source{dir: found.Dir, version: p.Release.Version, pkg: p.Release.Package, pin: at + " " + found.Sum}, nil
}
