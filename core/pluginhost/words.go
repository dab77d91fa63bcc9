// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

func quoted(name string) string { return strconv.Quote(name) }

// wayOn is what a person does after a plugin has ended during a verb. All but Build are called again without anybody.
func wayOn(v verb) string {
	if v == verbBuild {
		return "; to go on, start the run again"
	}
	return ""
}

// reasonOf is in words why a context ended.
func reasonOf(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the caller's time was over"
	}
	return "the caller cancelled it"
}

// short prints 1m rather than 1m0s, and 12h rather than 12h0m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
