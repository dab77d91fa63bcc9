// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// The images of the tests, made of this repository's programs; the second has a shell of this machine too.
const (
	buildImage = "infrared-build:dev"
	tofuImage  = "infrared-tofu:dev"
)

// writeImages writes the node's table of images.
func (s *stack) writeImages() error {
	type image struct {
		Image string            `json:"image"`
		Files map[string]string `json:"files"`
		Env   []string          `json:"env,omitempty"`
	}
	data, err := yaml.Marshal(map[string][]image{"images": {{
		Image: buildImage,
		Files: map[string]string{"/usr/local/bin/infrared-build": s.program("infrared-build"), "/usr/local/lib/infrared/plugins": s.program("plugins")},
	}, {
		Image: tofuImage,
		Files: map[string]string{"/usr/local/bin/tofu": s.program("tofu"), "/bin/sh": "/bin/sh", "/bin/sleep": "/bin/sleep"},
		Env:   []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
	}}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, "images.yaml"), data, 0o600)
}
