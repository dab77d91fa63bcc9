// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shimmed is a shim around a shell script that stands for OpenTofu, and the writing end of the pipe that stops it.
func shimmed(t *testing.T, script string) (cmd *exec.Cmd, stop *os.File, dir string) {
	t.Helper()
	dir = t.TempDir()
	program, pipe := filepath.Join(dir, "tofu"), filepath.Join(dir, "stop")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	stop, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop.Close() })
	cmd = exec.Command(os.Args[0], "one", "two words")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), envProgram+"="+program, envStop+"="+pipe, envPID+"="+filepath.Join(dir, "pid"), envInitArgs+"=-lockfile=readonly")
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop() })
	return cmd, stop, dir
}

func TestShimPassesOn(t *testing.T) {
	cmd, _, _ := shimmed(t, `echo "$#:$2:$TF_CLI_ARGS_init:$INFRARED_TOFU$INFRARED_TOFU_STOP$INFRARED_TOFU_PID$INFRARED_TOFU_TIE"; echo oops >&2; exit 3`)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || out.String() != "2:two words:-lockfile=readonly:\n" || errs.String() != "oops\n" {
		t.Errorf("arguments, output and exit code: %v, %q, %q", err, out.String(), errs.String())
	}
}

func TestShimDiesOfWhatKilledOpenTofu(t *testing.T) {
	cmd, _, _ := shimmed(t, "kill -9 $$")
	if err := cmd.Run(); signalOf(err) != syscall.SIGKILL {
		t.Errorf("the plugin sees %v, want signal 9", err)
	}
}

func TestShimWithoutPlugin(t *testing.T) {
	cmd, stop, _ := shimmed(t, "trap 'exit 5' INT; while :; do sleep 0.05; done")
	_ = stop.Close() // the plugin has died before its shim was there
	if err := cmd.Run(); err == nil {
		t.Error("OpenTofu was not interrupted")
	}
}

// The plugin is dead and nobody reads: what OpenTofu prints on its way out must neither kill nor block it.
func TestShimOutlivesItsReader(t *testing.T) {
	cmd, stop, dir := shimmed(t, `trap 'head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo written > state; exit 0' INT
echo ready
while :; do sleep 0.05; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = out.Close()
	_ = errs.Close()
	_ = stop.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the shim ended with %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "state")); string(text) != "written\n" {
		t.Errorf("the state was not written: %q, %v", text, err)
	}
}
