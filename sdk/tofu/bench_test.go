// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// BenchmarkBuild compares an apply by Build with plain tofu init and tofu apply of the same module, one that takes as long as a
// short build does: the ratio is what all our looking costs.
func BenchmarkBuild(b *testing.B) {
	binary, err := tofuBinary()
	if err != nil {
		b.Fatal(err)
	}
	var things []string
	for i := range 20 {
		things = append(things, fmt.Sprintf("resource \"terraform_data\" \"t%d\" {\n  provisioner \"local-exec\" { command = \"sleep 3\" }\n}\n", i))
	}
	module := strings.Join(things, "")
	var plain, ours time.Duration
	for b.Loop() {
		dir := b.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(module), 0o600); err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		for _, args := range [][]string{{"init"}, {"apply", "-auto-approve"}} {
			cmd := exec.Command(binary, args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("tofu %v: %v\n%s", args, err, out)
			}
		}
		plain += time.Since(begun)

		root := b.TempDir()
		q := request{Action: provider.ActionApply, Cluster: "bench", Folder: filepath.Join(root, "run"), State: filepath.Join(root, "state"), Files: map[string]string{"main.tf": module}}
		begun = time.Now()
		if _, err := q.build(b.Context(), nil, nil); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begun)
	}
	b.ReportMetric(float64(ours)/float64(plain), "ratio")
}
