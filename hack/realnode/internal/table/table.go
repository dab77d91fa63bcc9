// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table reads the stack's table of images, a YAML file that says which files of this machine an image is made of. It is the
// file that the process node reads too; that one mounts the files, the real node makes an image of them.
//
//	images:
//	- image: infrared-build:dev
//	  files:
//	    /usr/local/bin/infrared-build: .dev/bin/infrared-build
//	  command: [/usr/local/bin/infrared-build]
//	  user: 65532
package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Image is one row.
type Image struct {
	// Image is its name as pods write it. One without tag and digest is the tag latest.
	Image string `json:"image"`
	// Files maps absolute paths in the container to files or folders of this machine; a relative one is below the folder of the table.
	Files map[string]string `json:"files,omitempty"`
	// Command and Args are what runs where the pod gives none.
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env is KEY=value.
	Env []string `json:"env,omitempty"`
	// User is the user ID where the pod gives none.
	User int64 `json:"user,omitempty"`
	// WorkingDir is the working folder where the pod gives none.
	WorkingDir string `json:"workingDir,omitempty"`
}

// Load reads a table. It doesn't look whether the files are there.
func Load(path string) ([]Image, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the table of images: %w", err)
	}
	var file struct {
		Images []Image `json:"images"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, fmt.Errorf("reading the table of images %s: %w", path, err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("finding the table of images: %w", err)
	}
	for n, image := range file.Images {
		if image.Image == "" {
			return nil, fmt.Errorf("images[%d] of %s: image is empty: name the image", n, path)
		}
		for inside, outside := range image.Files {
			if !filepath.IsAbs(inside) {
				return nil, fmt.Errorf("images[%d] of %s: files: %q is not an absolute path", n, path, inside)
			}
			if !filepath.IsAbs(outside) {
				image.Files[inside] = filepath.Join(dir, outside)
			}
		}
	}
	return file.Images, nil
}

// Reference is the name that an engine looks an image up by, and the name with a tag under which an archive can carry it. The two
// differ only where the name has a digest, which an archive can't.
func (i Image) Reference() (lookup, archive string, err error) {
	name, digest, hasDigest := strings.Cut(i.Image, "@")
	repository, tag := name, "latest"
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		repository, tag = name[:colon], name[colon+1:]
	}
	if repository == "" || tag == "" || hasDigest && digest == "" {
		return "", "", errors.New("the image's name " + i.Image + " is no name: write it as name:tag")
	}
	archive = repository + ":" + tag
	if !hasDigest {
		return archive, archive, nil
	}
	return repository + "@" + digest, archive, nil
}
