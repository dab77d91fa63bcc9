// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sdk is the test plugin over the SDK. See package testplugin.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

func main() {
	name := filepath.Base(os.Args[0])
	if len(os.Args) > 1 && os.Args[1] == "orphan" {
		orphan()
		return
	}
	facts := provider.Facts{
		Name: "toy", Version: "v0.1.0", NodePrefixes: []string{"toy://"},
		Kinds:     []provider.Kind{{Name: "disk", Title: "Disk"}},
		Templates: []provider.Template{{Name: "toy/cluster", Title: "Toy", Variables: json.RawMessage(`{"type":"object"}`)}},
	}
	switch name {
	case "floods":
		go flood()
	case "grandchild":
		setPath()
		start("sleep", "1000")
	case "orphans":
		setPath()
		leaveOrphans()
	case "bad-facts":
		facts.Name = "No Name"
	}
	behaviour, verb, _ := strings.Cut(name, "-")
	plugin.Serve(&toy{name: name, behaviour: behaviour, verb: verb}, facts)
}

// setPath says where programs are: a host passes nothing of its own environment on.
func setPath() { _ = os.Setenv("PATH", "/usr/bin:/bin") }

func flood() {
	block := bytes.Repeat([]byte("x"), 64<<10)
	for {
		if _, err := syscall.Write(2, block); err != nil {
			return
		}
	}
}

// start runs a child in a session of its own. Without a parent that waits for it, it will be whose the system says.
func start(command string, args ...string) {
	cmd := exec.Command(command, args...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "starting a child:", err)
		os.Exit(5)
	}
}

// leaveOrphans starts children whose parent ends at once: they then belong to process 1.
func leaveOrphans() {
	for _, what := range []string{"true", "sleep 1000"} {
		cmd := exec.Command("/proc/self/exe", "orphan", what)
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "leaving an orphan:", err)
			os.Exit(5)
		}
	}
}

// orphan starts a child and ends.
func orphan() {
	words := strings.Fields(os.Args[2])
	start(words[0], words[1:]...)
	cmd := exec.Command(words[0], words[1:]...)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "starting an orphan:", err)
		os.Exit(5)
	}
}
