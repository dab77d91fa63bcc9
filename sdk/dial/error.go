// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"fmt"
	"strings"
)

// RefusedError says that a host may not be dialled. Nothing was sent to it.
type RefusedError struct {
	// Host is what was asked for, as it was asked for.
	Host string
	// Message is why. Under a policy of public addresses it is the same whatever the address is, and whether or not the
	// name exists.
	Message string
}

// Error returns host and message.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the host %q is refused: %s", shown(e.Host), e.Message)
}

// shown keeps a host as messages show it short.
func shown(host string) string {
	const longest = 260
	if len(host) > longest {
		return host[:longest] + "…"
	}
	return host
}

func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
