// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// How much of an answer is read, in bytes.
const (
	smallBody = 64 << 10
	listBody  = 4 << 20
)

// session is one call of Connect: one HTTP client for one server.
type session struct {
	server   *url.URL
	token    kubeconfig.Secret
	hasCA    bool
	client   *http.Client
	timeout  time.Duration
	prefixes map[string]string
	now      func() time.Time
}

func newSession(t Target) (*session, error) {
	transport, server, err := newTransport(t)
	if err != nil {
		return nil, err
	}
	s := &session{
		server:   server,
		token:    t.Config.Token,
		hasCA:    len(t.Config.CAData) > 0,
		client:   &http.Client{Transport: transport, CheckRedirect: dial.NoRedirects},
		timeout:  t.Timeout,
		prefixes: t.NodePrefixes,
		now:      t.Now,
	}
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	if s.prefixes == nil {
		s.prefixes = DefaultNodePrefixes()
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// newTransport builds the transport that has the target's CA, client certificate and dial policy.
func newTransport(t Target) (*http.Transport, *url.URL, error) {
	if t.Config == nil {
		return nil, nil, &Error{Kind: Invalid, Message: "there is no kubeconfig to connect with"}
	}
	address, err := kubeconfig.CheckServer("server", t.Config.Server)
	if err != nil {
		return nil, nil, &Error{Kind: Invalid, Message: err.Error()}
	}
	server, err := url.Parse(address)
	if err != nil {
		return nil, nil, &Error{Kind: Invalid, Message: "the server's address can't be read"}
	}
	config := &tls.Config{ServerName: t.Config.TLSServerName, MinVersion: tls.VersionTLS12}
	if len(t.Config.CAData) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.Config.CAData) {
			return nil, nil, &Error{Kind: Invalid, Message: "the cluster's CA holds no certificate that can be read"}
		}
	}
	if len(t.Config.ClientCertData) > 0 {
		pair, err := tls.X509KeyPair(t.Config.ClientCertData, []byte(t.Config.ClientKeyData.Reveal()))
		if err != nil {
			// The library's text is left out: it may speak of the key.
			return nil, nil, &Error{Kind: Invalid, Message: "client certificate and key can't be used together"}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return t.Policy.HTTPTransport(config), server, nil
}

func (s *session) close() { s.client.CloseIdleConnections() }

// request is one GET.
type request struct {
	path   string
	query  url.Values
	accept string
	limit  int64
	into   func(io.Reader) error
}

// get sends a request. It returns 200 after the answer was read, or 403, 404 or 410, whose meaning depends on what was
// asked; every other status is an error.
func (s *session) get(ctx context.Context, r request) (int, error) {
	to := *s.server.JoinPath(r.path)
	to.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return 0, s.fail(Invalid, "has an address that can't be asked")
	}
	req.Header.Set("User-Agent", "infrared")
	req.Header.Set("Accept", "application/json")
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if !s.token.IsZero() {
		req.Header.Set("Authorization", "Bearer "+s.token.Reveal())
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return 0, s.transportError(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return answer.StatusCode, nil
	default:
		return 0, s.statusError(answer.StatusCode, r.path)
	}

	body := &bounded{from: answer.Body, left: r.limit}
	err = r.into(body)
	switch {
	case err == nil:
		return http.StatusOK, nil
	case errors.Is(err, errTooMuch):
		return 0, s.fail(NotKubernetes, "sends too much when asked for %s", r.path)
	case body.err != nil && !errors.Is(body.err, io.EOF):
		return 0, s.transportError(ctx, body.err)
	default:
		return 0, s.fail(NotKubernetes, "sends no JSON as Kubernetes does when asked for %s", r.path)
	}
}

// bounded is a reader that ends after so many bytes, and remembers how it ended. The bytes are counted after
// decompression, so a small body that grows large is bounded too.
type bounded struct {
	from io.Reader
	left int64
	err  error
}

var errTooMuch = errors.New("more than is read")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	if err != nil {
		b.err = err
	}
	return n, err
}

// decodeJSON reads one JSON value into v.
func decodeJSON(v any) func(io.Reader) error {
	return func(r io.Reader) error { return json.NewDecoder(r).Decode(v) }
}
