// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"darkshift.io/infrared/sdk/provider"
)

// readCredentials reads a mounted Secret: one file a value. The kubelet's own names in it begin with a dot.
func readCredentials(folder string) (provider.Credentials, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return provider.Credentials{}, fmt.Errorf("reading the credentials: %w", err)
	}
	c := provider.Credentials{Values: map[string]provider.Secret{}, Folder: folder}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return provider.Credentials{}, fmt.Errorf("reading the credentials' value %s: %w", entry.Name(), err)
		}
		// kubectl create secret --from-file keeps the end of the line that an editor put there, and no cloud takes it.
		c.Values[entry.Name()] = provider.NewSecret(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"))
	}
	return c, nil
}
