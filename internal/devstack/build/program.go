// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Program is one binary of the stack and what is known about making it.
type Program struct {
	Name  string            // file under .dev/bin
	Dir   string            // folder of its module, relative to the repository
	Links []string          // further names of the same file
	Cost  string            // what a compile from nothing takes, in words
	Disk  int64             // bytes that a compile from nothing fills: modules and build cache
	Stamp map[string]string // linker variable -> template over the versions below
	Env   []string          // KEY=value for the compiler, beside what is in the environment
	Extra bool              // built only when it is named: most machines can't run it

	// VersionOf is the module whose version fills the templates of Stamp:
	// {version} is v1.37.2, {major} 1, {minor} 37.
	VersionOf string

	// Release is whose program it is; nil: one of ours, in Dir.
	Release *Release
}

// Programs is the stack's table of programs, in the order in which they are built.
func Programs() []Program {
	return []Program{{
		Name:      "controlplane",
		Dir:       "hack/controlplane",
		Links:     []string{"kubectl"},
		Cost:      "about 22 minutes of CPU time, so 11 minutes on two idle cores",
		Disk:      8 << 30,
		VersionOf: "k8s.io/kubernetes",
		Stamp:     kubernetes(),
	}, {
		Name: "tofu",
		Cost: "about 10 minutes of CPU time, so 5 minutes on two idle cores",
		Disk: 4 << 30,
		// Without it the version calls itself a development build.
		Stamp: map[string]string{"github.com/opentofu/opentofu/version.dev": "no"},
		Env:   static(),
		Release: &Release{
			Module: "github.com/opentofu/opentofu", Version: "v1.12.6", Package: "./cmd/tofu",
			Sum: "h1:0VT4P8pMmGcCUnQ9JDrJ+Qg2d35Vzm4FFd/9+H7oF98=",
		},
	}, {
		Name:      "node",
		Dir:       "hack/node",
		Cost:      "about 3 minutes of CPU time",
		Disk:      2 << 30,
		VersionOf: "k8s.io/client-go",
		Env:       static(),
	}, {
		Name:      "kubelet",
		Dir:       "hack/kubelet",
		Cost:      "about 2 minutes of CPU time where the control plane is compiled",
		Disk:      8 << 30,
		VersionOf: "k8s.io/kubernetes",
		Stamp:     kubernetes(),
		Extra:     true,
	}}
}

// Choose gives the programs of these names; without names, all that are not Extra.
func Choose(names []string) ([]Program, error) {
	var chosen []Program
	var all []string
	for _, p := range Programs() {
		all = append(all, p.Name)
		if slices.Contains(names, p.Name) || len(names) == 0 && !p.Extra {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("the stack has no program %q to compile: choose of %s", name, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}

// kubernetes are the variables without which a program of Kubernetes takes itself for v0.0.0.
func kubernetes() map[string]string {
	const version = "k8s.io/component-base/version."
	return map[string]string{
		version + "gitVersion":   "{version}",
		version + "gitMajor":     "{major}",
		version + "gitMinor":     "{minor}",
		version + "gitTreeState": "clean",
	}
}

// static is the environment of a program that must run where there is no C
// library, as in a container, as its authors' own build does.
func static() []string { return []string{"CGO_ENABLED=0"} }

// flags are the build flags. They must never vary between two builds, or the
// build cache is of no use: no version control stamp, therefore.
func (p Program) flags(version string) []string {
	ldflags := []string{"-s", "-w"}
	for _, name := range sortedKeys(p.Stamp) {
		ldflags = append(ldflags, "-X", name+"="+expand(p.Stamp[name], version))
	}
	flags := []string{"-buildvcs=false", "-ldflags=" + strings.Join(ldflags, " ")}
	if p.Release != nil {
		flags = append(flags, "-trimpath")
	}
	return flags
}

func expand(template, version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	parts = append(parts, "", "")
	return strings.NewReplacer("{version}", version, "{major}", parts[0], "{minor}", parts[1]).Replace(template)
}

// moduleVersion reads the version of a required module out of a go.mod.
func moduleVersion(dir, module string) (string, error) {
	path := filepath.Join(dir, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the module file: %w", err)
	}
	line := regexp.MustCompile(`(?m)^(?:require)?\s+` + regexp.QuoteMeta(module) + `\s+(v\S+)`)
	m := line.FindSubmatch(data)
	if m == nil {
		return "", fmt.Errorf("the file %s requires no %s", path, module)
	}
	return string(m[1]), nil
}
