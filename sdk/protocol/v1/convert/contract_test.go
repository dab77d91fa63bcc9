// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"darkshift.io/infrared/sdk/provider"
)

// The table that people read is the table that the code goes by.
func TestContractHasTheTableOfErrors(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	retries := map[provider.Retry]string{
		provider.RetryNever: "never", provider.RetryOnChange: "when it has changed", provider.RetrySlowly: "slowly",
		provider.RetrySoon: "soon", provider.RetryBackoff: "backing off",
	}
	for _, row := range provider.Kinds() {
		found := false
		for line := range strings.Lines(string(page)) {
			cells := strings.Split(line, " | ")
			if len(cells) != 6 || strings.TrimPrefix(cells[0], "| ") != "`"+string(row.Kind)+"`" {
				continue
			}
			found = true
			for what, pair := range map[string][2]string{
				"code":   {fmt.Sprintf("%d %s", row.Code, codes.Code(row.Code)), cells[2]},
				"retry":  {retries[row.Retry], strings.TrimSuffix(cells[3], ", and when they change")},
				"reason": {"`" + row.Reason + "`", cells[4]},
				"label":  {"`" + row.Label + "` |", strings.TrimSpace(cells[5])},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s: the %s is %q in the code and %q in docs/contract.md", row.Kind, what, pair[0], pair[1])
				}
			}
		}
		if !found {
			t.Errorf("docs/contract.md has no row for %s", row.Kind)
		}
	}
}
