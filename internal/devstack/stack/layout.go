// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"os"
	"path/filepath"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
)

const (
	// Management names the control plane that Infrared itself runs on.
	Management = "management"

	// DataEnv names the data folder, unless --data does.
	DataEnv = "INFRARED_DEV_DIR"

	// ownerEnv is in the environment of every process of a stack and holds its
	// data folder, by which Down finds those that nobody remembers.
	ownerEnv = "INFRARED_DEV_OWNER"

	// mark makes a folder a stack's.
	mark = "infrared-dev.json"
	// programs is the one folder in it that Purge leaves: compiling is dear.
	programs = "bin"
)

// Stack is the local stack of one data folder.
type Stack struct {
	Data   string // data folder, absolute
	Repo   string // repository, for manifests and programs; "" outside of one
	Binary string // control plane binary

	// Supervisor is the command line of a process that calls Supervise on the
	// same data folder.
	Supervisor []string
}

// Open finds the stack of a data folder without touching it. With data empty
// it is $INFRARED_DEV_DIR, else .dev in the repository.
func Open(data string) (*Stack, error) {
	repo, repoErr := devstack.RepoRoot()
	if data == "" {
		data = os.Getenv(DataEnv)
	}
	if data == "" {
		if repoErr != nil {
			return nil, fmt.Errorf("no data folder: %w, or name a folder with --data", repoErr)
		}
		data = filepath.Join(repo, ".dev")
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return nil, fmt.Errorf("finding the data folder: %w", err)
	}
	return &Stack{Data: data, Repo: repo}, nil
}

// claim makes the data folder ours, or refuses it.
func (s *Stack) claim() error {
	if err := folder.CheckOurs(s.Data, mark, programs, "command.lock"); err != nil {
		return err
	}
	if err := folder.Make(s.Data); err != nil {
		return err
	}
	path := s.path(mark)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return folder.WriteFile(path, []byte("{\"format\": 1}\n"))
}

// isOurs says whether the data folder exists and has our mark.
func (s *Stack) isOurs() bool {
	_, err := os.Stat(s.path(mark))
	return err == nil
}

func (s *Stack) path(name string) string { return filepath.Join(s.Data, name) }

func (s *Stack) stateFile() string     { return s.path("state.json") }
func (s *Stack) wantedFile() string    { return s.path("wanted.json") }
func (s *Stack) supervisorLog() string { return s.path("supervisor.log") }

// clusterDir is the data folder of one control plane.
func (s *Stack) clusterDir(name string) string { return s.path(name) }

// kubeconfig is the kubeconfig that people are given for a control plane.
func (s *Stack) kubeconfig(name string) string {
	if name == Management {
		return s.path("kubeconfig")
	}
	return s.path(name + ".kubeconfig")
}

// checkClusters refuses names that can't be a cluster's, or that would collide
// with files of the stack itself.
func checkClusters(names []string) error {
	for _, name := range names {
		if err := devstack.CheckName(name, Management, programs, operatorFiles, cloudName, "kubeconfig"); err != nil {
			return err
		}
	}
	return nil
}
