// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/sdk/fake/httpcloud"
)

// program compiles the provider once for a test.
func program(t *testing.T) string {
	t.Helper()
	bin, err := devstack.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	// Where programs may run: a temporary folder's file system need not allow it.
	dir, err := os.MkdirTemp(bin, "fake-test-") //nolint:usetesting // not the temporary folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "fake")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// The program is the cloud, and a kill -9 costs nothing that it has answered.
func TestCloudProgram(t *testing.T) {
	path, folder := program(t), t.TempDir()
	serve := func() (*exec.Cmd, httpcloud.Client) {
		t.Helper()
		cmd := exec.Command(path, "cloud", "--listen", "127.0.0.1:0", "--data", folder)
		cmd.Env = []string{tokenName + "=" + goodToken}
		out, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		t.Cleanup(func() { limit.Stop(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("the cloud says %q: %v", line, err)
		}
		_, address, _ := strings.Cut(strings.TrimSpace(line), "listens on ")
		return cmd, httpcloud.Client{Endpoint: "http://" + address, Token: goodToken}
	}
	first, c := serve()
	if _, err := c.Put(t.Context(), "network/a", httpcloud.Spec{Region: defaultRegion}); err != nil {
		t.Fatal(err)
	}
	kill9(first.Process.Pid)
	gone(t, "the cloud", func() bool { return dead(first.Process.Pid) })
	if _, err := c.WhoAmI(t.Context()); !errors.Is(err, httpcloud.CodeUnavailable) {
		t.Errorf("a cloud that is dead: %v", err)
	}
	_, c = serve()
	if _, err := c.Get(t.Context(), "network/a", defaultRegion); err != nil {
		t.Errorf("after the restart: %v", err)
	}

	for name, args := range map[string][]string{
		"must be an address of this machine": {"cloud", "--listen", "0.0.0.0:0", "--data", folder},
		"--data is missing":                  {"cloud"},
		"must be NAME=FILE":                  {"cloud", "--data", folder, "--kubeconfig", "edge"},
		"takes one argument":                 {"put"},
		"is not in the environment":          {"delete", "network/a"},
	} {
		cmd := exec.Command(path, args...)
		if args[0] == "cloud" {
			cmd.Env = []string{tokenName + "=" + goodToken}
		} else {
			cmd.Env = []string{}
		}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), name) || strings.Contains(string(out), "S3CR3T") {
			t.Errorf("%v: %v: %s, want %q", args, err, out, name)
		}
	}
}

// The facts are what the SDK takes, and the program says them.
func TestFacts(t *testing.T) {
	if err := facts().Check(); err != nil {
		t.Error(err)
	}
}
