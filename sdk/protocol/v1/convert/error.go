// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// maxErrorBytes is how long an error's text may be: it travels in a header, which has a limit of its own.
const maxErrorBytes = 8 << 10

// ErrorToStatus makes the status that a verb's error travels as: the code of its kind, and an Error in its details. Nil stays
// nil.
func ErrorToStatus(err error) error {
	if err == nil {
		return nil
	}
	m := errorToWire(err)
	plain := status.New(codes.Code(provider.KindOf(err).Row().Code), m.GetMessage())
	detailed, detailErr := plain.WithDetails(m)
	if detailErr != nil {
		return plain.Err()
	}
	return detailed.Err()
}

// ErrorFromStatus makes a verb's error from what a call returned: a [*provider.Error] always, except that nil stays nil.
//
// A status without an Error in its details is gRPC's own. Its text names sockets and changes from call to call, so it is
// kept as the cause and a sentence of ours stands instead.
func ErrorFromStatus(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return &provider.Error{Kind: provider.KindOf(err), Message: err.Error(), Err: err}
	}
	for _, detail := range s.Details() {
		if m, ok := detail.(*pb.Error); ok {
			e := errorFromWire(m)
			if e.Kind == "" {
				e.Kind = kindOfCode(s.Code())
			}
			return e
		}
	}
	return transportError(s.Code(), err)
}

// transportError is the error for a status that gRPC made itself.
func transportError(code codes.Code, cause error) error {
	e := &provider.Error{Kind: provider.Other, Err: cause}
	switch code {
	case codes.Canceled:
		e.Kind, e.Message, e.Err = provider.Unavailable, "the call was cancelled", errors.Join(cause, context.Canceled)
	case codes.DeadlineExceeded:
		e.Kind, e.Message, e.Err = provider.Unavailable, "the plugin did not answer in time", errors.Join(cause, context.DeadlineExceeded)
	case codes.Unavailable:
		e.Kind, e.Message = provider.Unavailable, "the plugin can't be reached, or ended during the call"
	case codes.Unimplemented:
		e.Kind, e.Message = provider.Unsupported, "the plugin does not know this call; it may be older than Infrared"
	case codes.ResourceExhausted:
		e.Message = "the plugin's answer, or what it was asked, is larger than 16 MiB"
	case codes.Internal:
		e.Message = "the plugin broke the protocol, or what it sent can't be read"
	default:
		e.Message = "the plugin failed without saying why"
	}
	return e
}

// kindOfCode reads the table backwards, for a kind that only the other side knows.
func kindOfCode(code codes.Code) provider.ErrorKind {
	for _, row := range provider.Kinds() {
		if codes.Code(row.Code) == code {
			return row.Kind
		}
	}
	return provider.Other
}

func errorToWire(err error) *pb.Error {
	if err == nil {
		return nil
	}
	m := &pb.Error{Kind: errorKinds().toWire(provider.KindOf(err)), Message: err.Error()}
	var e *provider.Error
	if errors.As(err, &e) {
		m.Field = text(e.Field)
		m.After = durationToWire(e.After)
		// The field travels on its own, and is put before the text again on the other side.
		bare := *e
		bare.Field = ""
		m.Message = strings.Replace(m.GetMessage(), e.Error(), bare.Error(), 1)
	}
	if len(m.Message) > maxErrorBytes {
		m.Message = strings.ToValidUTF8(m.Message[:maxErrorBytes], "") + "…"
	}
	m.Message = text(m.Message)
	return m
}

func errorFromWire(m *pb.Error) *provider.Error {
	return &provider.Error{
		Kind:    errorKinds().fromWire(m.GetKind()),
		Field:   m.GetField(),
		After:   max(0, durationFromWire(m.GetAfter())),
		Message: m.GetMessage(),
	}
}
