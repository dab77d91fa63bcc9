// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package importrules keeps the shape of the project: which package may import which. Rules lists what holds, each
// with its reason; Load reads the real graph from the go command; Check compares the two. Only imports of the code
// itself count, not those of its tests.
package importrules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Package is one node of the import graph.
type Package struct {
	// Imports are the packages that it imports itself.
	Imports []string
	// Standard says that it is part of Go's library.
	Standard bool
}

// Graph maps import paths to packages, dependencies included.
type Graph map[string]Package

// Rule says what some packages may not import. Patterns are import paths; one that ends in /... stands for the path
// and all below it, and "..." for every package. Patterns that begin with ./ are in this module.
type Rule struct {
	// Reason says why, in a sentence that helps whoever breaks the rule.
	Reason string
	// From are the packages that the rule is about, except those in Except.
	From, Except []string
	// Only, where it is set, lists all that may be imported, besides Go's own library.
	Only []string
	// Never lists what may not be imported, except what is in Unless.
	Never, Unless []string
	// Apart is a folder whose subfolders may not import each other.
	Apart string
	// Through says that the rule also holds for what the imported packages import in turn.
	Through bool
}

// Violation is an import that a rule forbids.
type Violation struct {
	Rule Rule
	// Path is the chain of imports, from the package that the rule is about to the forbidden one.
	Path []string
}

// String names the chain and the reason.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s", strings.Join(v.Path, " -> "), v.Rule.Reason)
}

// Check holds a graph against rules. It returns the violations, sorted, one for each package and forbidden import,
// and the reasons of the rules that are about no package of the graph.
func Check(module string, graph Graph, rules []Rule) (violations []Violation, unused []string) {
	for _, rule := range rules {
		m := matcher{module: module, rule: rule}
		used := false
		for _, path := range sortedPaths(graph) {
			if graph[path].Standard || !m.about(path) {
				continue
			}
			used = true
			violations = append(violations, m.violations(graph, path)...)
		}
		if !used {
			unused = append(unused, rule.Reason)
		}
	}
	return violations, unused
}

// matcher applies one rule.
type matcher struct {
	module string
	rule   Rule
}

func (m matcher) about(path string) bool {
	return m.any(m.rule.From, path) && !m.any(m.rule.Except, path)
}

func (m matcher) forbids(graph Graph, from, path string) bool {
	if room := m.room(path); room != "" && room != m.room(from) {
		return true
	}
	if m.any(m.rule.Never, path) && !m.any(m.rule.Unless, path) {
		return true
	}
	return len(m.rule.Only) > 0 && !graph[path].Standard && !m.any(m.rule.Only, path)
}

// violations walks from a package over its imports, only over its own where the rule is not Through. It does not look
// behind a forbidden import: one line for each way out of the rule is enough. Nor does it look behind a package that
// the rule is about, too, since that has lines of its own.
func (m matcher) violations(graph Graph, from string) []Violation {
	var out []Violation
	seen := map[string]bool{from: true}
	queue := [][]string{{from}}
	for len(queue) > 0 {
		chain := queue[0]
		queue = queue[1:]
		for _, next := range graph[chain[len(chain)-1]].Imports {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clone(chain), next)
			switch {
			case m.forbids(graph, from, next):
				out = append(out, Violation{Rule: m.rule, Path: longer})
			case m.rule.Through && !graph[next].Standard && !m.about(next):
				queue = append(queue, longer)
			}
		}
	}
	return out
}

func (m matcher) any(patterns []string, path string) bool {
	for _, pattern := range patterns {
		pattern = m.full(pattern)
		prefix, tree := strings.CutSuffix(pattern, "...")
		prefix = strings.TrimSuffix(prefix, "/")
		if path == prefix || tree && (prefix == "" || strings.HasPrefix(path, prefix+"/")) {
			return true
		}
	}
	return false
}

// room is the name of the subfolder of Apart that a package is in, or nothing.
func (m matcher) room(path string) string {
	rest, ok := strings.CutPrefix(path, m.full(m.rule.Apart)+"/")
	if m.rule.Apart == "" || !ok {
		return ""
	}
	room, _, _ := strings.Cut(rest, "/")
	return room
}

func (m matcher) full(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		return m.module + "/" + rest
	}
	return pattern
}

func sortedPaths(graph Graph) []string {
	paths := make([]string, 0, len(graph))
	for path := range graph {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// Load asks the go command for all packages of the module in a folder, and all they import.
func Load(ctx context.Context, folder string) (Graph, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Imports,Standard", "./...")
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("go list: %s", exit.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	graph := Graph{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Package
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return graph, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the answer of go list: %w", err)
		}
		graph[p.ImportPath] = p.Package
	}
}
