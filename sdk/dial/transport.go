// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"crypto/tls"
	"net/http"
	"time"
)

// HTTPTransport is an HTTP transport that dials by the policy: no proxy, whatever the environment says, TLS 1.2 or later,
// HTTP/2 where the server has it, a time-out on each stage and at most 64 KiB of headers. tlsConfig may be nil and is not
// changed. Follow no redirects with it: see [NoRedirects].
func (p Policy) HTTPTransport(tlsConfig *tls.Config) *http.Transport {
	if tlsConfig == nil {
		tlsConfig = &tls.Config{}
	}
	tlsConfig = tlsConfig.Clone()
	tlsConfig.MinVersion = max(tlsConfig.MinVersion, tls.VersionTLS12)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            p.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    5 * time.Second,
		ResponseHeaderTimeout:  10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           8,
		MaxIdleConnsPerHost:    2,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
}

// NoRedirects is for CheckRedirect of http.Client: a redirect is handed to the caller as the answer it is. A server that
// was checked must not send us, with our credential, to one that its owner chose.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
