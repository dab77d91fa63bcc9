// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testbuild has the programs for tests of what goes on inside an OpenTofu Job: infrared-build, and a provider plugin whose module
// is a folder of the test's own.
//
// The plugin goes by these credentials: MODULE_PROJECT is the folder of the module, with a schema.json; CLOUD_PROJECT a folder whose files
// Sweep finds, each as a thing with the file's name as its ID; LEAK makes it tell that secret everywhere; SAYS_PROJECT makes Build fail
// with the kind of error that is its first word, and the rest as the message.
package testbuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"darkshift.io/infrared/internal/devstack"
)

// Programs are the programs that were built.
type Programs struct {
	// Build is the path of infrared-build, Tofu that of OpenTofu.
	Build, Tofu string
	// Plugins is the folder with the plugin, Plugin its file's name, SHA256 its checksum.
	Plugins, Plugin, SHA256 string
}

// Build compiles the programs, once a test binary.
func Build(t testing.TB) Programs {
	t.Helper()
	p, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// build keeps the programs in .dev/bin, where the next run finds them; test binaries that run at the same time take turns.
var build = sync.OnceValues(func() (Programs, error) {
	bin, err := devstack.BinDir()
	if err != nil {
		return Programs{}, err
	}
	tofu := filepath.Join(bin, "tofu")
	if _, err := os.Stat(tofu); err != nil {
		return Programs{}, fmt.Errorf("OpenTofu is not built: run make stack (%w)", err)
	}
	root, err := devstack.RepoRoot()
	if err != nil {
		return Programs{}, err
	}
	folder := filepath.Join(bin, "testbuild")
	if err := os.MkdirAll(filepath.Join(folder, "new"), 0o755); err != nil {
		return Programs{}, fmt.Errorf("making a folder for the programs: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return Programs{}, fmt.Errorf("opening the lock of the programs: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return Programs{}, fmt.Errorf("waiting for others who build the programs: %w", err)
	}
	command := exec.Command("go", "build", "-p", "2", "-buildvcs=false", "-o", filepath.Join(folder, "new")+"/", "./internal/testbuild/plugin", "./cmd/infrared-build")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return Programs{}, fmt.Errorf("building the programs: %w: %s", err, out)
	}
	p := Programs{Tofu: tofu, Plugin: "toy"}
	if p.Build, _, err = keep(folder, "infrared-build", "infrared-build"); err != nil {
		return Programs{}, err
	}
	var plugin string
	if plugin, p.SHA256, err = keep(folder, "plugin", "toy"); err != nil {
		return Programs{}, err
	}
	p.Plugins = filepath.Dir(plugin)
	return p, nil
})

// keep puts a new program into a folder by its content. The compiler writes over what it made before, and a file that runs can't be
// written to.
func keep(folder, built, name string) (path, sum string, err error) {
	data, err := os.ReadFile(filepath.Join(folder, "new", built))
	if err != nil {
		return "", "", fmt.Errorf("keeping the program %s: %w", name, err)
	}
	hash := sha256.Sum256(data)
	sum = hex.EncodeToString(hash[:])
	path = filepath.Join(folder, built+"-"+sum[:16], name)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return path, sum, nil
	}
	old, err := filepath.Glob(filepath.Join(folder, built+"-*"))
	if err != nil {
		return "", "", fmt.Errorf("keeping the program %s: %w", name, err)
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return "", "", fmt.Errorf("keeping the program %s: %w", name, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", "", fmt.Errorf("keeping the program %s: %w", name, err)
	}
	// Another process does the writing: a child that is started in the meantime by this one would hold the file open for writing, and
	// it could not be executed.
	if out, err := exec.Command("cp", filepath.Join(folder, "new", built), path+".part").CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("keeping the program %s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	if err := os.Rename(path+".part", path); err != nil {
		return "", "", fmt.Errorf("keeping the program %s: %w", name, err)
	}
	return path, sum, nil
}
