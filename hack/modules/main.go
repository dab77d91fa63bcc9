// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command modules lays the templates' OpenTofu modules out as one git repository, a folder a template, at a tag: infrared-iac-modules.
// The operator takes modules from such a repository where its flag --modules-url names one; without it each plugin uses the module
// that it brings along, which is the same.
//
// A tag never moves: clusters were built from it, and the plan that somebody saw names it.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

func main() {
	repo := flag.String("repo", ".", "this repository, with the modules")
	plugins := flag.String("plugins", ".dev/bin/plugins", "the compiled plugins, which say what their templates are called")
	out := flag.String("out", ".dev/modules", "the git repository to write, made where it is not there")
	version := flag.String("version", "", "the tag, such as v0.14.0")
	flag.Parse()
	if err := run(*repo, *plugins, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(1)
	}
}

func run(repo, plugins, out, version string) error {
	if version == "" {
		return errors.New("--version is missing: name the tag, such as v0.14.0")
	}
	if err := tofu.CheckVersion(version); err != nil {
		return fmt.Errorf("--version: %w", err)
	}
	folders, err := moduleFolders(repo)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "infrared-modules-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	for plugin, folder := range folders {
		template, err := templateOf(filepath.Join(plugins, plugin))
		if err != nil {
			return err
		}
		if err := copyModule(filepath.Join(work, template), folder); err != nil {
			return fmt.Errorf("copying the module of %s: %w", template, err)
		}
	}
	return publish(work, out, version)
}

// moduleFolders are the modules by their plugin's name: plugins/<name>/module, and the fake's.
func moduleFolders(repo string) (map[string]string, error) {
	found, err := filepath.Glob(filepath.Join(repo, "plugins", "*", "module"))
	if err != nil {
		return nil, fmt.Errorf("looking for modules: %w", err)
	}
	folders := map[string]string{"fake": filepath.Join(repo, "sdk", "fake", "module")}
	for _, folder := range found {
		folders[filepath.Base(filepath.Dir(folder))] = folder
	}
	return folders, nil
}

// templateOf is the name of a plugin's template, as the plugin itself says it.
func templateOf(program string) (string, error) {
	said, err := exec.Command(program, "describe").Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its templates, which make build compiles: %w", program, err)
	}
	var d provider.Description
	if err := json.Unmarshal(said, &d); err != nil {
		return "", fmt.Errorf("reading what %s says of itself: %w", program, err)
	}
	if len(d.Facts.Templates) != 1 {
		return "", fmt.Errorf("%s has %d templates, and its folder module is for one", program, len(d.Facts.Templates))
	}
	return d.Facts.Templates[0].Name, nil
}

// copyModule copies what OpenTofu and people read of a module.
func copyModule(to, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !slices.Contains([]string{".tf", ".hcl", ".md", ".tftpl"}, filepath.Ext(e.Name())) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), text, 0o644); err != nil { //nolint:gosec // to be read by everybody
			return err
		}
	}
	return nil
}

// publish commits the folders to the repository and tags them.
func publish(work, out, version string) error {
	if _, err := os.Stat(filepath.Join(out, ".git")); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", out, err)
		}
		if _, err := git(out, out, "init", "--quiet", "--initial-branch=main"); err != nil {
			return err
		}
	}
	if _, err := git(out, work, "add", "--all", "."); err != nil {
		return err
	}
	tree, err := git(out, work, "write-tree")
	if err != nil {
		return err
	}
	if tagged, err := git(out, work, "rev-parse", "--verify", "--quiet", "refs/tags/"+version+"^{tree}"); err == nil {
		if tagged == tree {
			return nil
		}
		return fmt.Errorf("%s is tagged already in %s, with other modules: a tag never moves, take the next version", version, out)
	}
	commit := []string{"commit-tree", tree, "-m", "Modules of " + version}
	if parent, err := git(out, work, "rev-parse", "--verify", "--quiet", "refs/heads/main"); err == nil {
		commit = append(commit, "-p", parent)
	}
	id, err := git(out, work, commit...)
	if err != nil {
		return err
	}
	if _, err := git(out, work, "update-ref", "refs/heads/main", id); err != nil {
		return err
	}
	if _, err := git(out, work, "tag", version, id); err != nil {
		return err
	}
	_, err = git(out, out, "reset", "--quiet", "--hard", "main")
	return err
}

// git runs git on the repository out with the files of tree, by nobody's own configuration.
func git(out, tree string, args ...string) (string, error) {
	out, err := filepath.Abs(out)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", out, err)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "GIT_DIR="+filepath.Join(out, ".git"), "GIT_WORK_TREE=.", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=Infrared", "GIT_AUTHOR_EMAIL=infrared@localhost", "GIT_COMMITTER_NAME=Infrared", "GIT_COMMITTER_EMAIL=infrared@localhost")
	var said bytes.Buffer
	cmd.Stderr = &said
	answer, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(answer)), nil
}
