// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/core/deletion"
)

// TestPlan compares the order of a deletion, and what may be forced, with the golden file. A change to either is a decision: run
// go test ./core/deletion -update, and say in the commit why.
func TestPlan(t *testing.T) {
	const golden = "testdata/plan.golden"
	var b strings.Builder
	seen := map[string]bool{}
	for i, step := range deletion.Plan() {
		force := "can be forced"
		if step.Abandon == nil {
			force = "can't be forced"
		}
		stuck := "never Stuck"
		if step.Timeout > 0 {
			stuck = "Stuck after " + step.Timeout.String()
		}
		fmt.Fprintf(&b, "%d. %s: %s, %s\n", i+1, step.Name, stuck, force)
		if seen[step.Name] || step.Run == nil {
			t.Errorf("step %s is there twice, or does nothing", step.Name)
		}
		seen[step.Name] = true
	}
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v: run go test ./core/deletion -update", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the plan is not the golden one; if that is meant, run go test ./core/deletion -update (-golden +plan):\n%s", diff)
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files")
	os.Exit(m.Run())
}
