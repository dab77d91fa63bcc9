// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import "darkshift.io/infrared/sdk/plugin"

// ParseAttachments reads what a plugin prints that was started with serve --debug: attachments by the plugin's name, as JSON. An
// empty text has none.
func ParseAttachments(text string) (map[string]plugin.Attachment, error) {
	return plugin.ParseAttachments(text)
}
