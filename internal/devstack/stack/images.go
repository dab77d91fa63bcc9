// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Images that pods of the stack may name. All of them are made of programs of this machine.
const (
	buildImage = "infrared-build:dev" // infrared-build and the plugins
	tofuImage  = "opentofu:dev"       // OpenTofu, git, ssh and a shell

	// releasedTofu stands for every release of OpenTofu's own image, so that a Cluster
	// may name one on the stack as anywhere else.
	releasedTofu = "ghcr.io/opentofu/opentofu"
)

// image is a row of the node's table.
type image struct {
	Image   string            `json:"image"`
	Files   map[string]string `json:"files"` // path in the container -> path of this machine, read-only
	Command []string          `json:"command,omitempty"`
	User    int               `json:"user,omitempty"`
}

// nobody is the user of an image whose program needs no rights.
const nobody = 65532

// images is the node's table, as JSON, which YAML is. What the files hold is
// looked up as a pod starts, so programs may be compiled later.
func (s *Stack) images(kind string) ([]byte, error) {
	tofu := image{Image: tofuImage, Files: toolFiles(), Command: []string{"tofu"}, User: nobody}
	if kind == NodeReal {
		tofu.Files = singleTools()
	}
	tofu.Files["/usr/local/bin/tofu"] = s.program("tofu")
	rows := []image{{
		Image: buildImage, Command: []string{"/usr/local/bin/infrared-build"}, User: nobody,
		Files: map[string]string{
			"/usr/local/bin/infrared-build":   s.program("infrared-build"),
			"/usr/local/lib/infrared/plugins": s.pluginFolder(),
		},
	}, tofu}
	// Only the process node's table knows a name that stands for every tag.
	if kind != NodeReal {
		released := tofu
		released.Image = releasedTofu
		rows = append(rows, released)
	}
	data, err := json.MarshalIndent(map[string][]image{"images": rows}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the table of images: %w", err)
	}
	return append(data, '\n'), nil
}

// toolFiles are a shell, git and ssh of this machine, as far as it has them, with
// all that they load as they run.
func toolFiles() map[string]string {
	files := map[string]string{}
	for _, path := range []string{
		"/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec/git-core", "/usr/share/git-core",
		"/etc/alternatives", "/etc/ssl", "/etc/ld.so.cache",
	} {
		if _, err := os.Stat(path); err == nil {
			files[path] = path
		}
	}
	for _, name := range []string{"git", "ssh"} {
		path, err := exec.LookPath(name)
		if err == nil && filepath.IsAbs(path) && files[filepath.Dir(path)] == "" {
			files[path] = path
		}
	}
	return files
}
