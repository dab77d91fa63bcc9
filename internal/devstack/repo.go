// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	module = "darkshift.io/infrared"

	// BinaryEnv names a control plane binary that is used instead of the
	// repository's own.
	BinaryEnv = "INFRARED_CONTROLPLANE"
)

// errNoRepo is also true of a program that was copied out of its repository.
var errNoRepo = errors.New("neither the working folder nor this program is inside the Infrared repository")

// RepoRoot finds the repository that holds the working folder, from its go.mod,
// else the one that holds this program, so that the .dev/bin/ir of a
// repository can be called from anywhere.
func RepoRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working folder: %w", err)
	}
	if root, ok := repoAbove(dir); ok {
		return root, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if root, ok := repoAbove(filepath.Dir(self)); ok {
		return root, nil
	}
	return "", fmt.Errorf("%w: change into it", errNoRepo)
}

// repoAbove looks for the repository in dir and the folders that hold it.
func repoAbove(dir string) (string, bool) {
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && hasModuleLine(string(data)) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func hasModuleLine(gomod string) bool {
	for line := range strings.Lines(gomod) {
		if strings.TrimSpace(line) == "module "+module {
			return true
		}
	}
	return false
}

// BinDir is where `make stack` and `make build` put programs.
func BinDir() (string, error) {
	root, err := RepoRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".dev", "bin"), nil
}

// Binary finds the control plane binary: the file that $INFRARED_CONTROLPLANE
// names, else .dev/bin/controlplane of the repository. The error of a missing one says
// to run make stack.
func Binary() (string, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		return checkBinary(path, "correct or unset "+BinaryEnv)
	}
	bin, err := BinDir()
	if errors.Is(err, errNoRepo) {
		return "", fmt.Errorf("no control plane binary: %w, or name one in %s", err, BinaryEnv)
	}
	if err != nil {
		return "", err
	}
	return checkBinary(filepath.Join(bin, "controlplane"), "run make stack")
}

func checkBinary(path, wayOut string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("the control plane binary %s is missing: %s", path, wayOut)
	case err != nil:
		return "", fmt.Errorf("the control plane binary %s can't be used: %w: %s", path, err, wayOut)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return "", fmt.Errorf("the control plane binary %s is not a program: %s", path, wayOut)
	}
	return filepath.Abs(path)
}

// Versions are those of the modules a control plane binary was built from.
type Versions struct {
	Kubernetes string `json:"kubernetes"` // such as v1.37.2
	Etcd       string `json:"etcd"`       // such as v3.7.0
}

// BinaryVersions reads what a control plane binary was built from out of the
// file, without running it.
func BinaryVersions(path string) (Versions, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return Versions{}, fmt.Errorf("reading what %s was built from: %w", path, err)
	}
	var v Versions
	for _, dep := range info.Deps {
		switch dep.Path {
		case "k8s.io/kubernetes":
			v.Kubernetes = dep.Version
		case "go.etcd.io/etcd/server/v3":
			v.Etcd = dep.Version
		}
	}
	if v.Kubernetes == "" || v.Etcd == "" {
		return Versions{}, fmt.Errorf("%s is not a control plane binary: run make stack", path)
	}
	return v, nil
}
