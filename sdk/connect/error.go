// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// Kind says in one word why a cluster could not be reached.
type Kind string

// The kinds there are.
const (
	// Unreachable: no connection, or the server is not able to answer. May pass by itself.
	Unreachable Kind = "Unreachable"
	// Timeout: no answer, or not all of it, within the time. May pass by itself.
	Timeout Kind = "Timeout"
	// AddressRefused: the policy does not let the address be dialled.
	AddressRefused Kind = "AddressRefused"
	// CertificateInvalid: the server's certificate is not what the kubeconfig expects.
	CertificateInvalid Kind = "CertificateInvalid"
	// Unauthorized: the server does not take the credential.
	Unauthorized Kind = "Unauthorized"
	// Forbidden: the server takes the credential and lets it read nothing.
	Forbidden Kind = "Forbidden"
	// NotKubernetes: something else answers at the address.
	NotKubernetes Kind = "NotKubernetes"
	// Invalid: the target itself can't be used.
	Invalid Kind = "Invalid"
)

// Error is why a cluster could not be reached. The same cause gives the same text every time; it holds nothing secret, and
// nothing the server sent except the names in its certificate.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// fail makes an Error about the session's server; format goes on from "the API server HOST ".
func (s *session) fail(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: "the API server " + s.server.Host + " " + fmt.Sprintf(format, args...)}
}

// statusError is the error for an HTTP status that no request expects.
func (s *session) statusError(status int, path string) *Error {
	switch {
	case status == http.StatusUnauthorized:
		return s.unauthorized()
	case status >= 300 && status < 400:
		return s.fail(NotKubernetes, "answers with a redirect, which is not followed; give the address it leads to")
	case status == http.StatusTooManyRequests || status >= 500:
		return s.fail(Unreachable, "answers %d when asked for %s", status, path)
	default:
		return s.fail(NotKubernetes, "answers %d when asked for %s", status, path)
	}
}

// unauthorized says when the token ended, where it tells.
func (s *session) unauthorized() *Error {
	if subject, ok := kubeconfig.TokenSubject(s.token); ok && !subject.Expiry.IsZero() && s.now().After(subject.Expiry) {
		return s.fail(Unauthorized, "does not take the token of the ServiceAccount %s/%s, which expired at %s; give a new one",
			subject.Namespace, subject.Name, subject.Expiry.Format(time.RFC3339))
	}
	return s.fail(Unauthorized, "does not take the credential; it may be withdrawn, expired or another cluster's")
}

// transportError is the error for a request that got no answer.
func (s *session) transportError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return fmt.Errorf("connecting to the API server %s: %w", s.server.Host, context.Canceled)
	}
	var refused *dial.RefusedError
	if errors.As(err, &refused) {
		return &Error{Kind: AddressRefused, Message: "the API server's address can't be used: " + refused.Error()}
	}
	if e := s.tlsError(err); e != nil {
		return e
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		if lookup.IsNotFound {
			return s.fail(Unreachable, "has a host name that does not resolve; check it")
		}
		return s.fail(Unreachable, "has a host name that could not be looked up just now")
	}
	var timeout net.Error
	if ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout() {
		return s.fail(Timeout, "does not answer in time, which is %s for everything", s.timeout)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return s.fail(Unreachable, "refuses the connection; nothing listens there")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return s.fail(Unreachable, "can't be reached: there is no route to it")
	default:
		return s.fail(Unreachable, "breaks the connection off before it has answered")
	}
}

// tlsError is the error for what goes wrong in TLS; nil for everything else.
func (s *session) tlsError(err error) *Error {
	var record tls.RecordHeaderError
	if errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch) {
		return s.fail(NotKubernetes, "does not speak TLS at this port; check the port")
	}
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" {
		if strings.Contains(alert.Err.Error(), "certificate") {
			return s.fail(Unauthorized, "does not take the client certificate")
		}
		return s.fail(NotKubernetes, "breaks off the TLS handshake; it may want another tls-server-name, or a newer TLS than it is offered")
	}
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	switch {
	case errors.As(err, &authority) && s.hasCA:
		return s.fail(CertificateInvalid, "has a certificate that certificate-authority-data has not signed; give the cluster's present CA")
	case errors.As(err, &authority):
		return s.fail(CertificateInvalid, "has a certificate that no CA of this system has signed; give the cluster's CA in certificate-authority-data")
	case errors.As(err, &host):
		return s.fail(CertificateInvalid, "has a certificate for other names (%s); give one of them as the server or as tls-server-name",
			namesIn(host.Certificate))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return s.fail(CertificateInvalid, "has a certificate that is valid from %s to %s only", day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter))
	case errors.As(err, &invalid), errors.As(err, &verification):
		return s.fail(CertificateInvalid, "has a certificate that can't be trusted")
	}
	return nil
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// namesIn lists up to five names that a certificate is for, sorted; those that can't be a name are left out.
func namesIn(certificate *x509.Certificate) string {
	const most = 5
	var names []string
	for _, name := range certificate.DNSNames {
		if nameShape.MatchString(name) {
			names = append(names, name)
		}
	}
	for _, ip := range certificate.IPAddresses {
		names = append(names, ip.String())
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		names = append(names[:most:most], "…")
	}
	return strings.Join(names, ", ")
}
