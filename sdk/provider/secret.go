// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted stands wherever a secret would have been printed.
const redacted = "[redacted]"

// Secret is a text that must not be shown. It prints as [redacted] under every verb of fmt, in JSON, YAML and logs, also
// from within a private field. Compare it with Equal: == does not compile, and reflect.DeepEqual finds no two secrets
// equal. The zero value is the empty secret.
//
// It can be written as JSON but not read from it, so a redacted copy is never taken for the real thing.
type Secret struct {
	// A function, because reflection sees everything else: fmt prints what private fields hold without asking their
	// methods, and the diff of a failed test follows pointers too.
	reveal func() string
}

// NewSecret keeps text as a secret. It need not be UTF-8.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// Reveal returns the text itself. Call it only where the secret is used.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero says whether the secret is empty.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Equal says whether both hold the same text.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// String returns "[redacted]", or nothing for the empty secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// Format implements fmt.Formatter, so that no verb and no flag shows the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// MarshalText implements encoding.TextMarshaler, which JSON and most other encoders ask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML is what the YAML encoder asks.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalLog implements logr.Marshaler.
func (s Secret) MarshalLog() any { return s.String() }
