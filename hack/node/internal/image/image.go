// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image is the node's answer to "pull this image": a table, in a YAML
// file, that says which local programs stand for an image.
//
//	images:
//	- image: ghcr.io/opentofu/opentofu:1.12
//	  files:
//	    /usr/local/bin/tofu: .dev/bin/tofu
//	  command: [tofu]
//	  user: 65532
//
// There is no layer, no registry and no download: the files and folders named
// are mounted read-only into the container's root folder, and everything else
// of an image (command, environment, user, working folder) stands in the table.
package image

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Image is one row of the table.
type Image struct {
	// Image is its name as pods write it. Without a tag or digest it stands for
	// every tag and digest of that name.
	Image string `json:"image"`
	// Files maps absolute paths in the container to files or folders of this
	// machine; a relative one is below the folder of the table. All are read-only.
	Files map[string]string `json:"files,omitempty"`
	// Command and Args are what runs where the pod gives none.
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env is the environment, KEY=value, that the pod's own adds to.
	Env []string `json:"env,omitempty"`
	// User is the user ID where the pod gives none, and also the group ID.
	User int64 `json:"user,omitempty"`
	// WorkingDir is the working folder where the pod gives none.
	WorkingDir string `json:"workingDir,omitempty"`
}

// Table is all images that a node has.
type Table []Image

// Load reads a table and checks that it can be used. It doesn't look whether
// the files are there: programs may be compiled later.
func Load(path string) (Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the table of images: %w", err)
	}
	var file struct {
		Images Table `json:"images"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, fmt.Errorf("reading the table of images %s: %w", path, err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("finding the table of images: %w", err)
	}
	for i := range file.Images {
		if err := file.Images[i].complete(dir); err != nil {
			return nil, fmt.Errorf("images[%d] of %s: %w", i, path, err)
		}
	}
	return file.Images, nil
}

func (i *Image) complete(dir string) error {
	if i.Image == "" {
		return fmt.Errorf("image is empty: name the image")
	}
	for _, inside := range slices.Sorted(maps.Keys(i.Files)) {
		if !filepath.IsAbs(inside) {
			return fmt.Errorf("files: %q is not an absolute path", inside)
		}
		if outside := i.Files[inside]; !filepath.IsAbs(outside) {
			i.Files[inside] = filepath.Join(dir, outside)
		}
	}
	return nil
}

// Find returns the image that a pod names. An exact row wins over one without
// a tag.
func (t Table) Find(name string) (Image, error) {
	for _, want := range []string{name, base(name)} {
		for _, i := range t {
			if i.Image == want {
				return i, nil
			}
		}
	}
	return Image{}, fmt.Errorf("image %q is not in this node's table of images: add it to the file that --images names", name)
}

// base is the name without tag and digest. A colon before the last slash
// belongs to a port.
func base(name string) string {
	name, _, _ = strings.Cut(name, "@")
	slash := strings.LastIndexByte(name, '/')
	if colon := strings.IndexByte(name[slash+1:], ':'); colon >= 0 {
		return name[:slash+1+colon]
	}
	return name
}
