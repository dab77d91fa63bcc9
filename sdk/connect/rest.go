// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
)

// RESTConfig is a client-go configuration for the target, for those who need whole objects. It is built field by field,
// never from a file: no exec plugin, no proxy, no redirects, every connection by the target's policy, 50 requests a second
// with bursts of 100. Its transport is one of its own; make one a cluster and keep it. Its error is an [*Error].
func RESTConfig(t Target) (*rest.Config, error) {
	transport, _, err := newTransport(t)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:        t.Config.Server,
		BearerToken: t.Config.Token.Reveal(),
		Transport:   noRedirects{transport},
		UserAgent:   "infrared",
		QPS:         50,
		Burst:       100,
	}, nil
}

// noRedirects turns a redirect into an error. client-go's HTTP client would follow it and add the credential again.
type noRedirects struct{ *http.Transport }

var errRedirect = errors.New("the API server answers with a redirect, which is not followed")

func (t noRedirects) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.Transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 300 && answer.StatusCode < 400 && answer.Header.Get("Location") != "" {
		_ = answer.Body.Close()
		return nil, errRedirect
	}
	return answer, nil
}
