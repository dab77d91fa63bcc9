// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrorKind is what the host goes by when a call fails. It is an error itself, so that errors.Is(err, provider.Denied) asks for it.
type ErrorKind string

// The kinds of error, and there are no others.
const (
	// Invalid: the request can't be carried out until somebody changes it. Error.Field says what.
	Invalid ErrorKind = "Invalid"
	// Unauthenticated: the credentials are wrong, withdrawn or expired.
	Unauthenticated ErrorKind = "Unauthenticated"
	// Denied: the credentials are good, and lack a right.
	Denied ErrorKind = "Denied"
	// Quota: the account has no more of it.
	Quota ErrorKind = "Quota"
	// Conflict: something else is at work there, or things are no longer as the caller saw them.
	Conflict ErrorKind = "Conflict"
	// Unavailable: it can't answer now. Throttling is this, with Error.After. Nothing is known about what is there.
	Unavailable ErrorKind = "Unavailable"
	// Unsupported: this provider can't do that.
	Unsupported ErrorKind = "Unsupported"
	// Other: anything else.
	Other ErrorKind = "Other"
)

// Error returns the kind's name.
func (k ErrorKind) Error() string { return string(k) }

// Retry is when a call that failed is worth making again.
type Retry string

// The ways to retry.
const (
	// RetryNever: only another version of the plugin changes it.
	RetryNever Retry = "Never"
	// RetryOnChange: when what was asked for has changed.
	RetryOnChange Retry = "OnChange"
	// RetrySlowly: every few minutes, and at once when the credentials have changed; somebody has to act.
	RetrySlowly Retry = "Slowly"
	// RetrySoon: after seconds; it passes by itself.
	RetrySoon Retry = "Soon"
	// RetryBackoff: after a time that grows with each failure.
	RetryBackoff Retry = "Backoff"
)

// KindRow is all that follows from an error's kind.
type KindRow struct {
	Kind ErrorKind
	// Code is the number of the gRPC status code that the kind travels under.
	Code uint32
	// Retry is when to call again; Error.After, where it is longer, comes first.
	Retry Retry
	// Reason is the condition's reason on the object that the call was for.
	Reason string
	// Label is the value of the label kind in metrics.
	Label string
}

// Kinds is the table of all kinds, the only place that says what follows from one. The codes are those of
// google.rpc.Code.
func Kinds() []KindRow {
	return []KindRow{
		{Kind: Invalid, Code: 3, Retry: RetryOnChange, Reason: "InvalidSpec", Label: "invalid"},
		{Kind: Unauthenticated, Code: 16, Retry: RetrySlowly, Reason: "BadCredentials", Label: "unauthenticated"},
		{Kind: Denied, Code: 7, Retry: RetrySlowly, Reason: "PermissionDenied", Label: "denied"},
		{Kind: Quota, Code: 8, Retry: RetrySlowly, Reason: "QuotaExceeded", Label: "quota"},
		{Kind: Conflict, Code: 10, Retry: RetrySoon, Reason: "Busy", Label: "conflict"},
		{Kind: Unavailable, Code: 14, Retry: RetryBackoff, Reason: "CloudUnavailable", Label: "unavailable"},
		{Kind: Unsupported, Code: 12, Retry: RetryNever, Reason: "Unsupported", Label: "unsupported"},
		{Kind: Other, Code: 2, Retry: RetryBackoff, Reason: "ProviderFailed", Label: "other"},
	}
}

// Row is the kind's row of the table; that of Other for a kind which is none of the eight.
func (k ErrorKind) Row() KindRow {
	var other KindRow
	for _, row := range Kinds() {
		if row.Kind == k {
			return row
		}
		other = row
	}
	return other
}

// Error is how a verb fails. Its text holds no secret, and is the same every time for the same cause: no times, no request
// IDs. errors.Is finds its kind, errors.As the error itself, and both see through to Err, which does not travel: the host
// gets the text.
type Error struct {
	Kind ErrorKind
	// Field is what is wrong in the request, such as variables.region; of Invalid only.
	Field string
	// After is how long to wait at least before the next call; of Unavailable, Quota and Conflict; zero: no matter.
	After time.Duration
	// Message says what was tried, what stood in the way, and the way out.
	Message string
	// Err is the cause, where there is one.
	Err error
}

// Error returns the message, behind the field where there is one.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = string(e.Kind)
	}
	if e.Field != "" {
		return e.Field + ": " + text
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is says whether target is the error's kind.
func (e *Error) Is(target error) bool {
	kind, ok := target.(ErrorKind)
	return ok && kind == e.Kind
}

// Errorf makes an error of a kind. The format's %w becomes its cause, as with fmt.Errorf.
func Errorf(kind ErrorKind, format string, args ...any) error {
	return newError(kind, fmt.Errorf(format, args...))
}

// Invalidf says what is wrong with a field of the request, such as variables.region.
func Invalidf(field, format string, args ...any) error {
	e := newError(Invalid, fmt.Errorf(format, args...))
	e.Field = field
	return e
}

// Unavailablef says that the cloud can't answer now, and when to ask again; zero where it did not say.
func Unavailablef(after time.Duration, format string, args ...any) error {
	e := newError(Unavailable, fmt.Errorf(format, args...))
	e.After = after
	return e
}

// newError keeps said's text, and its cause where it has one or several.
func newError(kind ErrorKind, said error) *Error {
	e := &Error{Kind: kind, Message: said.Error()}
	_, one := said.(interface{ Unwrap() error })
	_, several := said.(interface{ Unwrap() []error })
	if one || several {
		e.Err = said
	}
	return e
}

// KindOf is the kind of an error: that of the outermost [*Error] in it, Unavailable for a context that has ended, Other for
// everything else, and empty for nil.
func KindOf(err error) ErrorKind {
	var typed *Error
	var kind ErrorKind
	switch {
	case err == nil:
		return ""
	case errors.As(err, &typed):
		return typed.Kind.Row().Kind
	case errors.As(err, &kind):
		return kind.Row().Kind
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	default:
		return Other
	}
}
