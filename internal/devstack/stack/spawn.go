// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

// spawn starts a supervisor that outlives this command: in a session of its
// own, with its output in a log. ended is closed if it ends while we live.
func (s *Stack) spawn() (pid int, ended <-chan struct{}, err error) {
	path := s.supervisorLog()
	if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, nil, fmt.Errorf("keeping the supervisor's last log: %w", err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, nil, fmt.Errorf("opening the supervisor's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.Supervisor[0], s.Supervisor[1:]...)
	cmd.Env = append(os.Environ(), DataEnv+"="+s.Data, ownerEnv+"="+s.Data, devstack.BinaryEnv+"="+s.Binary)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/" // so that no folder is kept busy; the repository, where there is one, for its manifests
	if s.Repo != "" {
		cmd.Dir = s.Repo
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// Whatever an earlier supervisor left would hold the folders that this one needs.
	if _, err := s.endLeftovers(); err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(done)
	}()
	return cmd.Process.Pid, done, nil
}

// supervisor finds the running supervisor by its lock, which can't be stale.
func (s *Stack) supervisor() (pid int, running bool, err error) {
	path := s.path("supervisor.lock")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	lock, err := folder.TryLock(path)
	if err == nil {
		_ = lock.Close()
		return 0, false, nil
	}
	if !errors.Is(err, folder.ErrLocked) {
		return 0, false, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false, fmt.Errorf("reading the supervisor's pid: %w", err)
	}
	// 0 when there is no number: it has the lock and is about to write its pid.
	pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	return pid, true, nil
}

// supervisorDied words the end of the supervisor under a command that waits for it.
func (s *Stack) supervisorDied() error {
	log := s.supervisorLog()
	cause := proc.LastError(log)
	switch {
	case cause == "":
		cause = "it printed nothing"
	case strings.HasSuffix(cause, stoppedAll):
		return errors.New("the stack was taken down while it was starting")
	}
	return fmt.Errorf("the supervisor ended: %s (log: %s)", cause, log)
}
