// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	goplugin "github.com/hashicorp/go-plugin"

	"darkshift.io/infrared/sdk/plugin/internal/stdout"
)

// What host and plugin agree on before they speak. These never change, or no old plugin could say that it is old.
const (
	// MagicCookieKey is the environment variable that tells a program it was started as a plugin, MagicCookieValue its value.
	MagicCookieKey   = stdout.Cookie
	MagicCookieValue = stdout.CookieValue
	// EnvParent is the environment variable with the number of the file descriptor whose end tells a plugin that its host is
	// gone: the read end of a pipe.
	EnvParent = "INFRARED_PARENT_FD"
	// EnvAttach is the host's environment variable with the plugins that already run, as JSON: see [ParseAttachments].
	EnvAttach = "INFRARED_ATTACH_PROVIDERS"
	// MaxMessageBytes is how large a request, an answer or an event may be.
	MaxMessageBytes = 16 << 20
	// FactsInvalid begins the line that a plugin ends with when its own facts are wrong.
	FactsInvalid = "the facts are not valid: "
)

// pluginName is the one thing that a plugin serves, in go-plugin's words.
const pluginName = "provider"

// handshake is what go-plugin compares. Its version stays unset: [Supported] has the versions.
func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{MagicCookieKey: MagicCookieKey, MagicCookieValue: MagicCookieValue}
}
