// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"io"

	"darkshift.io/infrared/sdk/provider"
)

// writeDescription writes, as JSON, what a host would be told.
func writeDescription(w io.Writer, d provider.Description) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("describing the provider %q: %w", d.Facts.Name, err)
	}
	if _, err := fmt.Fprintf(w, "%s\n", text); err != nil {
		return fmt.Errorf("writing the description: %w", err)
	}
	return nil
}
