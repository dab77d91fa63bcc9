// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The page that leads here is followed to the letter: its files are written and its commands run, in order, and each line that
// it shows is in what came out.
//
// A block says by the words after its fence what it is: "go FILE" is a file, "sh try" has to succeed and "sh fails" to fail, and
// "text" is part of what the command before it printed. Others are not run.
func TestThePageWorks(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/providers.md"))
	if err != nil {
		t.Fatal(err)
	}
	reader := &reader{folder: t.TempDir(), root: root}
	ran := 0
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 0 {
			continue
		}
		what, text, _ := strings.Cut(block, "\n")
		if strings.HasPrefix(what, "sh ") {
			ran++
		}
		reader.follow(t, what, text)
	}
	if ran == 0 {
		t.Error("the page has no command that could be run")
	}
}

// reader follows the page in a folder of its own.
type reader struct {
	folder, root string
	// output is what the last command printed.
	output string
}

func (r *reader) follow(t *testing.T, what, text string) {
	t.Helper()
	kind, arg, _ := strings.Cut(what, " ")
	switch kind {
	case "go":
		if err := os.WriteFile(filepath.Join(r.folder, arg), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	case "sh":
		if arg == "" {
			return
		}
		command := exec.CommandContext(t.Context(), "sh", "-e", "-c", text)
		command.Dir = r.folder
		command.Env = append(os.Environ(), "INFRARED="+r.root, "GOFLAGS=-mod=mod")
		out, err := command.CombinedOutput()
		r.output = string(out)
		if failed := err != nil; failed != (arg == "fails") {
			t.Fatalf("%s\n%s\nended so: %v", text, out, err)
		}
	case "text":
		for line := range strings.Lines(text) {
			if !strings.Contains(r.output, strings.TrimSpace(line)) {
				t.Errorf("the page shows %q, which is not in\n%s", strings.TrimSpace(line), r.output)
			}
		}
	}
}
