// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
)

// realFlags are those of an API server that has a real node: a kubelet takes no
// loopback address for its own, so it is called by its name.
func realFlags(kind string) []string {
	if kind != NodeReal {
		return nil
	}
	return []string{"--kubelet-preferred-address-types=Hostname,InternalIP"}
}

// checkReal refuses a real node where it can't run.
func (s *Stack) checkReal() error {
	if os.Getuid() != 0 {
		return errors.New("a real node mounts and makes control groups: run ir dev up as root, or use --node=process")
	}
	for _, program := range []string{nodeProgram(NodeReal), "kubelet"} {
		if fileIdentity(s.program(program)) == "" {
			return fmt.Errorf("a real node needs %s, which is not compiled: run make realnode", shorten(s.program(program)))
		}
	}
	return nil
}

// checkKindChange refuses to give a stack that runs a real node, or take one
// from it: its API server would look for nodes in the wrong way.
func checkKindChange(was, is string, running bool) error {
	if running && was != is && (was == NodeReal || is == NodeReal) {
		return fmt.Errorf("the stack runs with --node=%s, which can't be changed to %s while it does: run ir dev down first", firstOf(was, NodeNone), firstOf(is, NodeNone))
	}
	return nil
}

// tellPods applies what pods of a real node need to find the API server, and
// takes that away again where the node is another.
func (s *Stack) tellPods(ctx context.Context, cp *devstack.ControlPlane, kind string) error {
	file := filepath.Join(s.clusterDir(Management), "realnode-policy.yaml")
	if kind != NodeReal {
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if _, err := cp.Kubectl(ctx, "delete", "--ignore-not-found", "-f", file); err != nil {
			return fmt.Errorf("removing the real node's policy: %w", err)
		}
		return os.Remove(file)
	}
	policy, err := exec.CommandContext(ctx, s.program(nodeProgram(NodeReal)), "policy", "--api-address", strings.TrimPrefix(cp.URL, "https://")).Output()
	if err != nil {
		return fmt.Errorf("asking for the real node's policy: %w", err)
	}
	if err := folder.WriteFile(file, policy); err != nil {
		return err
	}
	if _, err := cp.Kubectl(ctx, "apply", "--server-side", "-f", file); err != nil {
		return fmt.Errorf("applying the real node's policy: %w", err)
	}
	return nil
}

// singleTools are a shell, git and what they run, as far as the machine has them. A real node
// makes an image of them, with the libraries that they need.
func singleTools() map[string]string {
	files := map[string]string{}
	for _, path := range []string{
		"/bin/sh", "/usr/bin/git", "/usr/lib/git-core/git-remote-http", "/usr/lib/git-core/git-remote-https", "/usr/bin/ssh",
		"/etc/ssl/certs/ca-certificates.crt",
	} {
		if _, err := os.Stat(path); err == nil {
			files[path] = path
		}
	}
	return files
}
