// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/proc"
	"darkshift.io/infrared/internal/devstack/stack"
)

const playEnv = "IR_TEST_PLAY"

// TestMain also plays ir itself, and with it the supervisor that ir starts.
func TestMain(m *testing.M) {
	if os.Getenv(playEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestExitCodes(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	tests := map[string]struct {
		reason string
		args   []string
		code   int
		out    string // somewhere in the output
		err    string // the whole error line, without its end
	}{
		"Version":        {"It says what it was built from.", []string{"version"}, 0, "ir ", ""},
		"Help":           {"Without a command it lists them.", nil, 0, "Run the local stack", ""},
		"DevHelp":        {"So does a group.", []string{"dev"}, 0, "Show each component", ""},
		"NoSuchCommand":  {"A mistyped command is a usage error.", []string{"dve"}, 2, "", `ir: there is no command "dve": see ir --help`},
		"NoSuchDev":      {"In a group too.", []string{"dev", "upp"}, 2, "", `ir: there is no command "upp": see ir dev --help`},
		"NoSuchFlag":     {"And a mistyped flag.", []string{"dev", "up", "--nodes"}, 2, "", "ir: unknown flag: --nodes: see ir dev up --help"},
		"ExtraArgument":  {"And an argument where none belongs.", []string{"dev", "up", "edge"}, 2, "", `ir: "edge" is one argument too many: see ir dev up --help`},
		"Output":         {"And an unknown format.", []string{"dev", "status", "-o", "yaml"}, 2, "", `ir: --output "yaml" can't be printed: json, or leave it out for a table`},
		"StatusOfNone":   {"No stack is not well.", []string{"dev", "status", "--data", data}, 1, "", "ir: the stack is not running: start it with ir dev up"},
		"DownOfNone":     {"But it is down.", []string{"dev", "down", "--data", data}, 0, "there is no stack in " + data, ""},
		"NoSuchCluster":  {"A bad name is refused before anything starts.", []string{"dev", "up", "--data", data, "--cluster", "Edge"}, 1, "", `ir: the cluster name "Edge" can't be used: lowercase letters, digits and hyphens, no hyphen at either end`},
		"NoSuchNode":     {"So is a node of a kind that there isn't.", []string{"dev", "up", "--data", data, "--node", "cow"}, 1, "", `ir: there is no node of kind "cow": choose of process, real, none`},
		"NoSuchLog":      {"A log that isn't there is named with those that are.", []string{"dev", "logs", "x", "--data", data}, 1, "", `ir: no log is called "x": choose of supervisor`},
		"HiddenButThere": {"Up starts it by this name.", []string{"dev", "supervise", "--help"}, 0, "parent of everything", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), tc.args, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("%s\nexit code %d, want %d", tc.reason, code, tc.code)
			}
			if !strings.Contains(stdout.String(), tc.out) {
				t.Errorf("%s\nprinted %q, want %q in it", tc.reason, stdout.String(), tc.out)
			}
			if got := strings.TrimSuffix(stderr.String(), "\n"); got != tc.err {
				t.Errorf("%s\nerror %q\nwant  %q", tc.reason, got, tc.err)
			}
		})
	}
}

// Whoever kills ir while it brings a stack up can still take all of it down.
func TestDownAfterKilledUp(t *testing.T) {
	if _, err := devstack.Binary(); err != nil {
		t.Fatal(err) // says to run make stack
	}
	data := filepath.Join(t.TempDir(), "data")
	ir := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--data", data)...)
		cmd.Env = append(os.Environ(), playEnv+"=1")
		return cmd
	}
	up := ir("dev", "up", "--cluster", "edge", "--operator=false")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{Data: data}
	started := func() bool {
		st, err := s.Status()
		for _, c := range st.Components {
			if err == nil && c.Name == devstack.APIServer && c.Pid != 0 {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(time.Minute); !started(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("ir dev up started no API server within a minute")
		}
	}
	if err := up.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = up.Wait()
	if out, err := ir("dev", "down", "--purge").CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "the stack is down\n") {
		t.Errorf("ir dev down printed %q (%v)", out, err)
	}
	left, err := proc.FindByEnv("INFRARED_DEV_OWNER", data)
	if err != nil || len(left) > 0 {
		t.Errorf("after ir dev down there run %v (%v)", left, err)
	}
	if entries, _ := os.ReadDir(data); len(entries) > 0 {
		t.Errorf("after --purge the data folder holds %v", entries)
	}
}

// A data folder may be named from anywhere. The program that was built in a
// repository knows its way back to it; one that lies elsewhere says what is missing.
func TestUpFromElsewhere(t *testing.T) {
	tests := map[string]struct {
		reason  string
		program string // below a made-up repository's parent
		args    []string
		err     string // the whole error, with PARENT for that folder
	}{
		"Built": {
			reason:  "It finds the control plane binary's place beside itself.",
			program: "repo/.dev/bin/ir",
			args:    []string{"dev", "up", "--data", "d x"},
			err:     "ir: the control plane binary PARENT/repo/.dev/bin/controlplane is missing: run make stack\n",
		},
		"Copied": {
			reason:  "The data folder was named, so that is not what is missing.",
			program: "bin/ir",
			args:    []string{"dev", "up", "--data", "d x"},
			err:     "ir: no control plane binary: neither the working folder nor this program is inside the Infrared repository: change into it, or name one in INFRARED_CONTROLPLANE\n",
		},
		"CopiedWithoutData": {
			reason:  "Here it is.",
			program: "bin/ir",
			args:    []string{"dev", "status"},
			err:     "ir: no data folder: neither the working folder nor this program is inside the Infrared repository: change into it, or name a folder with --data\n",
		},
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			program := filepath.Join(parent, tc.program)
			for _, dir := range []string{filepath.Dir(program), filepath.Join(parent, "repo")} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(parent, "repo", "go.mod"), []byte("module darkshift.io/infrared\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(program, self, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program, tc.args...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), playEnv+"=1", devstack.BinaryEnv+"=", stack.DataEnv+"=")
			out, err := cmd.CombinedOutput()
			if want := strings.ReplaceAll(tc.err, "PARENT", parent); err == nil || string(out) != want {
				t.Errorf("%s\nprinted %q (%v)\nwant    %q", tc.reason, out, err, want)
			}
		})
	}
}
