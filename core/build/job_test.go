// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// update writes the golden file anew.
var update = flag.Bool("update", false, "write testdata/job.golden.yaml anew")

// TestJobGolden shows the whole Job of a run, so that a change of what it may do is seen in review.
func TestJobGolden(t *testing.T) {
	c := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge", Generation: 3},
		Spec: v1alpha1.ClusterSpec{
			Incarnation: "1b4e28ba-2fa1-41d2-883f-0016d3cca427",
			Template:    &v1alpha1.Template{Module: "fake/cluster", Version: "v1.0.0"},
			Provision:   &v1alpha1.Provision{Action: v1alpha1.ActionApply},
		},
	}
	b := &Builder{BuildImage: "infrared-build:v1.0.0"}
	job := b.job(c, wanted(c), "tofu-edge-3-apply-u1b4e28ba", Found{Binary: "fake"}, "opentofu:1.12.6")
	got, err := yaml.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "job.golden.yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the Job is not that of %s; if it should be, run the test with -update (-want +got):\n%s", path, diff)
	}
}
