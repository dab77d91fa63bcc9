// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"cmp"
	"errors"
	"strings"

	"darkshift.io/infrared/sdk/provider"
)

// The fields by which Connect of a plugin says what is wrong with a cluster that is there already. Each is a kind of Error of its own,
// so that a person reads the same reason whether a plugin looked or Infrared itself.
const (
	// FieldEndpoint is the way in itself, which can't be used: Invalid. So is any other field of it, such as endpoint.token.
	FieldEndpoint = "endpoint"
	// FieldServer is an address that may not be dialled: AddressRefused.
	FieldServer = "endpoint.server"
	// FieldCA is a CA that has not signed what the server shows: CertificateInvalid.
	FieldCA = "endpoint.ca"
	// FieldAPI is what answers at the address, and is no API server of Kubernetes: NotKubernetes. No request has such a field.
	FieldAPI = "endpoint.api"
)

// verdict puts an error of Connect into the words that every plugin speaks. The text stays.
func verdict(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return provider.Errorf(provider.Unavailable, "%w", err)
	}
	answer := &provider.Error{Kind: provider.Other, Message: e.Message, Err: err}
	switch e.Kind {
	case Unreachable, Timeout:
		answer.Kind = provider.Unavailable
	case Unauthorized:
		answer.Kind = provider.Unauthenticated
	case Forbidden:
		answer.Kind = provider.Denied
	case AddressRefused:
		answer.Kind, answer.Field = provider.Invalid, FieldServer
	case NotKubernetes:
		answer.Kind, answer.Field = provider.Invalid, FieldAPI
	case CertificateInvalid:
		answer.Kind, answer.Field = provider.Invalid, FieldCA
	case Invalid:
		answer.Kind, answer.Field = provider.Invalid, FieldEndpoint
	}
	return answer
}

// ErrorOf is what a plugin's answer to Connect says about the API server, the way back from the errors of Serve; nil where it says
// nothing about it. Only for a request without cloud credentials: with them, the refusal may be the cloud's. A Timeout comes back as
// Unreachable.
func ErrorOf(e *provider.Error) *Error {
	kind := Invalid
	switch {
	case e.Kind == provider.Unavailable:
		kind = Unreachable
	case e.Kind == provider.Unauthenticated:
		kind = Unauthorized
	case e.Kind == provider.Denied:
		kind = Forbidden
	case e.Kind != provider.Invalid:
		return nil //nolint:nilerr // a kind is an error, too, and here it is only compared
	case e.Field == FieldServer:
		kind = AddressRefused
	case e.Field == FieldCA:
		kind = CertificateInvalid
	case e.Field == FieldAPI:
		kind = NotKubernetes
	case e.Field != FieldEndpoint && !strings.HasPrefix(e.Field, FieldEndpoint+"."):
		return nil
	}
	return &Error{Kind: kind, Message: cmp.Or(e.Message, string(e.Kind))}
}
