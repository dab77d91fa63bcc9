// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	controlFD = 3
	helperFD  = 4
)

// Enter builds the box around the calling process and becomes the program. It
// returns only when that failed, after it has told the launcher why.
func Enter() error {
	// Capabilities and the death signal belong to a thread, not to a process.
	runtime.LockOSThread()
	unix.CloseOnExec(controlFD)
	control := os.NewFile(controlFD, "control")
	defer control.Close()
	err := enter(control)
	_ = json.NewEncoder(control).Encode(report{Error: err.Error()})
	return err
}

func enter(control *os.File) error {
	in := bufio.NewReader(control)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading what to run: %w", err)
	}
	var spec Spec
	if err := json.Unmarshal(line, &spec); err != nil {
		return fmt.Errorf("reading what to run: %w", err)
	}
	if spec.Exec {
		unix.CloseOnExec(helperFD)
	}
	unix.Umask(0o022)
	if err := buildRoot(spec); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	if err := dropRights(spec); err != nil {
		return err
	}
	if spec.Exec {
		if err := startHelper(spec); err != nil {
			return err
		}
	}
	return become(spec, control, in)
}

// become waits for the word and turns into the program.
func become(spec Spec, control *os.File, in *bufio.Reader) error {
	// Changing the user cleared what the launcher had asked for. From here on the
	// kernel kills us with it, and a launcher that died before never says go.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("asking to die with the supervisor: %w", err)
	}
	if err := json.NewEncoder(control).Encode(report{Ready: true}); err != nil {
		return fmt.Errorf("reporting ready: %w", err)
	}
	if _, err := in.ReadByte(); err != nil {
		return errors.New("the supervisor ended before the program started")
	}
	if len(spec.Args) == 0 {
		return errors.New("no command: neither the pod nor the table of images names one")
	}
	if err := os.Chdir(workDir(spec)); err != nil {
		return fmt.Errorf("changing to the working folder: %w", err)
	}
	path, err := lookUp(spec.Args[0], spec.Env)
	if err != nil {
		return err
	}
	err = syscall.Exec(path, spec.Args, spec.Env)
	return fmt.Errorf("running %q: %w", spec.Args[0], err)
}

func workDir(spec Spec) string {
	if spec.Dir == "" {
		return "/"
	}
	return spec.Dir
}

// lookUp finds a program the way a shell does, in the PATH of the environment
// that it will have.
func lookUp(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, kv := range env {
		dirs, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			path := filepath.Join(dir, name)
			if filepath.IsAbs(path) && unix.Access(path, unix.X_OK) == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("running %q: %w", name, exec.ErrNotFound)
}
