// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"
	"unicode"
)

// StartReason says in one word why a plugin did not start. The values are the reasons of a Provider's condition.
type StartReason string

// The reasons.
const (
	// ReasonBinaryMissing: there is no file of that name.
	ReasonBinaryMissing StartReason = "BinaryMissing"
	// ReasonChecksumMismatch: the file is not the one that was pinned. It was not executed.
	ReasonChecksumMismatch StartReason = "ChecksumMismatch"
	// ReasonNotExecutable: the system can't run the file.
	ReasonNotExecutable StartReason = "NotExecutable"
	// ReasonPrintsFirst: it wrote something else to its standard output before the handshake.
	ReasonPrintsFirst StartReason = "PrintsFirst"
	// ReasonForgedHandshake: the handshake has the right form, and no plugin that we started stands behind it.
	ReasonForgedHandshake StartReason = "ForgedHandshake"
	// ReasonVersionMismatch: plugin and host have no protocol version in common.
	ReasonVersionMismatch StartReason = "VersionMismatch"
	// ReasonCrashedAtStart: the process ended before it was ready.
	ReasonCrashedAtStart StartReason = "CrashedAtStart"
	// ReasonSilent: no handshake came within the start time-out.
	ReasonSilent StartReason = "Silent"
	// ReasonFactsInvalid: what the plugin says about itself breaks a rule.
	ReasonFactsInvalid StartReason = "FactsInvalid"
	// ReasonNoSocketFolder: there is no folder for the plugin's socket.
	ReasonNoSocketFolder StartReason = "NoSocketFolder"
	// ReasonStartFailed: anything else.
	ReasonStartFailed StartReason = "StartFailed"
)

// StartError is why a plugin did not start.
type StartError struct {
	Reason StartReason
	// Message says it in words, for people: what happened and the way out. The same cause gives the same text.
	Message string
	// Err is the cause, where there is one.
	Err error
}

// Error returns the message.
func (e *StartError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

func startErrorf(reason StartReason, cause error, format string, args ...any) *StartError {
	return &StartError{Reason: reason, Message: fmt.Sprintf(format, args...), Err: cause}
}

// quotedBytes is how much of a line that a plugin printed stands in a message.
const quotedBytes = 200

// quote makes a plugin's own words fit for a message: one line, printable, cut, between quotation marks.
func quote(line string) string {
	const mark = "…"
	line = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(strings.TrimRight(line, "\r\n"), "\uFFFD"))
	if len(line) > quotedBytes {
		// A character that the cut would go through is left out.
		line = strings.ToValidUTF8(line[:quotedBytes-len(mark)], "") + mark
	}
	return `"` + line + `"`
}
