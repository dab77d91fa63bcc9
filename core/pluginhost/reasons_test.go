// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost_test

import (
	"testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// TestReasons is that whatever the host, a start of a plugin or an error of one gives as a reason is in the API's table, and so has a
// page for whoever reads it.
func TestReasons(t *testing.T) {
	known := map[string]bool{}
	for _, reason := range v1alpha1.Reasons {
		known[reason.Name] = true
	}
	given := []string{
		pluginhost.ReasonHealthy, pluginhost.ReasonAttached, pluginhost.ReasonStarting, pluginhost.ReasonRestarting,
		pluginhost.ReasonCrashed, pluginhost.ReasonHung,
	}
	for _, reason := range []plugin.StartReason{
		plugin.ReasonBinaryMissing, plugin.ReasonChecksumMismatch, plugin.ReasonNotExecutable, plugin.ReasonPrintsFirst,
		plugin.ReasonForgedHandshake, plugin.ReasonVersionMismatch, plugin.ReasonCrashedAtStart, plugin.ReasonSilent,
		plugin.ReasonFactsInvalid, plugin.ReasonNoSocketFolder, plugin.ReasonStartFailed,
	} {
		given = append(given, string(reason))
	}
	for _, row := range provider.Kinds() {
		given = append(given, row.Reason)
	}
	for _, reason := range given {
		if !known[reason] {
			t.Errorf("%s is not in v1alpha1.Reasons", reason)
		}
	}
}
