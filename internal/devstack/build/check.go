// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// toolchain is what the go command says of itself.
type toolchain struct {
	GOVERSION  string
	GOARCH     string
	GOCACHE    string
	GOMODCACHE string
	CC         string
}

// findToolchain asks the go command, and checks that what it needs is there.
func findToolchain(ctx context.Context, dir string) (toolchain, error) {
	var t toolchain
	if _, err := exec.LookPath("go"); err != nil {
		return t, errors.New("go is not in PATH: install Go 1.26 or later")
	}
	cmd := exec.CommandContext(ctx, "go", "env", "-json", "GOVERSION", "GOARCH", "GOCACHE", "GOMODCACHE", "CC")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return t, fmt.Errorf("asking go for its settings: %w: %s", err, stderrOf(err))
	}
	if err := json.Unmarshal(out, &t); err != nil {
		return t, fmt.Errorf("reading the settings of go: %w", err)
	}
	for _, need := range []struct{ program, reason string }{
		{firstWord(t.CC), "a C compiler: Go's net package and the race detector are built with it"},
		{"git", "Go asks it for modules, and the project's checks for what changed"},
	} {
		if _, err := exec.LookPath(need.program); err != nil {
			return t, fmt.Errorf("%s is not in PATH (%s): install it, on Debian with: apt-get install %s", need.program, need.reason, need.program)
		}
	}
	return t, nil
}

func firstWord(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return "gcc"
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strings.TrimSpace(string(exit.Stderr))
	}
	return ""
}

// checkDisk refuses to begin what the disk can't hold.
func checkDisk(need int64, dirs ...string) error {
	for _, dir := range dirs {
		free, ok := freeBytes(dir)
		if ok && free < need {
			return fmt.Errorf("%s has %s left on its disk, compiling takes about %s: make room, or move Go's caches with GOCACHE and GOMODCACHE",
				dir, gigabytes(free), gigabytes(need))
		}
	}
	return nil
}

func gigabytes(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/(1<<30)) }

// freeBytes looks at the disk of dir or of its nearest parent that exists.
func freeBytes(dir string) (int64, bool) {
	for {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return 0, false
		}
		dir = parent
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
