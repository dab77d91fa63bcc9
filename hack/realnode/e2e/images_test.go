// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// The images of the tests, both made of this machine's files.
const (
	buildImage = "infrared-build:dev"
	tofuImage  = "infrared-tofu:dev"
)

// writeImages writes the node's table of images.
func (s *stack) writeImages() error {
	data, err := yaml.Marshal(map[string]any{"images": []any{
		map[string]any{
			"image": tofuImage,
			"files": map[string]string{"/usr/local/bin/tofu": s.program("tofu"), "/bin/sh": "/bin/sh", "/usr/bin/git": "/usr/bin/git"},
			"env":   []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		},
	}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "images.yaml"), data, 0o600)
}
