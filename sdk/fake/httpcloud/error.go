// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Code is what sort of error it is, as it stands in answers. It is an error itself, so that errors.Is(err, CodeNotFound) asks for it.
type Code string

// The codes.
const (
	CodeInvalid         Code = "INVALID_ARGUMENT"
	CodeUnauthenticated Code = "UNAUTHENTICATED"
	CodeDenied          Code = "PERMISSION_DENIED"
	CodeQuota           Code = "QUOTA_EXCEEDED"
	CodeNotFound        Code = "NOT_FOUND"
	CodeConflict        Code = "ALREADY_EXISTS"
	// CodeInUse: something else is in the thing, or it is just being deleted.
	CodeInUse       Code = "RESOURCE_IN_USE"
	CodeThrottled   Code = "TOO_MANY_REQUESTS"
	CodeUnavailable Code = "UNAVAILABLE"
	CodeInternal    Code = "INTERNAL"
)

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Error is how a call to the cloud failed.
type Error struct {
	// Status is the HTTP status; 0: the cloud did not answer.
	Status int  `json:"-"`
	Code   Code `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	// After is how long to wait before the next call; zero: the cloud did not say.
	After time.Duration `json:"-"`
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is says whether target is the error's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// HTTPStatus is the status under which errors of the code travel.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeInvalid:
		return http.StatusBadRequest
	case CodeUnauthenticated:
		return http.StatusUnauthorized
	case CodeDenied, CodeQuota:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeConflict, CodeInUse:
		return http.StatusConflict
	case CodeThrottled:
		return http.StatusTooManyRequests
	case CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

func failure(code Code, format string, args ...any) *Error {
	return &Error{Status: code.HTTPStatus(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// internal is for what a cloud keeps to itself.
func internal(err error) *Error {
	return failure(CodeInternal, "the cloud has trouble of its own: %v", err)
}

// answer writes the error as the cloud's answer.
func (e *Error) answer(w http.ResponseWriter) {
	if e.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.After/time.Second)))
	}
	answer(w, e.Status, map[string]any{"error": e})
}
