// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// RelayOptions says what a Relay stands in front of.
type RelayOptions struct {
	// Upstream is the server's address, such as https://127.0.0.1:6443 or http://127.0.0.1:8080.
	Upstream string
	// CA holds the PEM certificates that an https server's own must chain to.
	CA []byte
	// Certificate is what the relay shows to its clients; the zero value: a server of plain HTTP stays one, and another gets a
	// certificate that is signed by itself.
	Certificate tls.Certificate
	// Watch is called with each request that changes something, and its body, before the request goes on. What it returns, where that
	// is not nil, is called once the server has answered and before the answer is passed back. Either breaks the connection off
	// where it returns false: the sender is dead.
	Watch func(r *http.Request, body []byte) (pass bool, answered func() (pass bool))
}

// Relay is a reverse proxy between a server and several programs at once. Where a Proxy kills the one program that it stands before,
// a Relay tells of each write, on both sides of it, and somebody else decides who dies there.
type Relay struct {
	address string
	caPEM   []byte
	watch   func(*http.Request, []byte) (bool, func() bool)
	reverse *httputil.ReverseProxy
	server  *http.Server
	served  chan struct{}
}

// NewRelay starts a relay on a free loopback port. Close stops it.
func NewRelay(o RelayOptions) (*Relay, error) {
	upstream, err := url.Parse(o.Upstream)
	if err != nil || upstream.Host == "" || upstream.Scheme != "https" && upstream.Scheme != "http" {
		return nil, fmt.Errorf("upstream %q: want an address such as https://127.0.0.1:6443", o.Upstream)
	}
	roots := x509.NewCertPool()
	if upstream.Scheme == "https" && !roots.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("upstream CA: holds no PEM certificate")
	}
	r := &Relay{watch: o.Watch, served: make(chan struct{})}
	if o.Certificate.Certificate == nil && upstream.Scheme == "https" {
		if o.Certificate, r.caPEM, err = servingCertificate(); err != nil {
			return nil, fmt.Errorf("making the relay's certificate: %w", err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	r.address = upstream.Scheme + "://" + listener.Addr().String()
	r.reverse = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(upstream) },
		Transport: &http.Transport{
			TLSClientConfig:    &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:  true,
			DisableCompression: true,
		},
		FlushInterval:  -1,
		ModifyResponse: relayed,
		ErrorHandler:   unrelayed,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go r.serve(listener, upstream.Scheme, o.Certificate)
	return r, nil
}

func (r *Relay) serve(listener net.Listener, scheme string, certificate tls.Certificate) {
	defer close(r.served)
	if scheme == "http" {
		_ = r.server.Serve(listener)
		return
	}
	r.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	_ = r.server.ServeTLS(listener, "", "")
}

// Close stops the relay and cuts every connection through it.
func (r *Relay) Close() error {
	err := r.server.Close()
	<-r.served
	if transport, ok := r.reverse.Transport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	if err != nil {
		return fmt.Errorf("stopping the relay: %w", err)
	}
	return nil
}

// URL is the relay's own address.
func (r *Relay) URL() string { return r.address }

// CA is the PEM certificate that clients must trust; nil where the relay was given a certificate, or needs none.
func (r *Relay) CA() []byte { return bytes.Clone(r.caPEM) }

type answeredKey struct{}

// ServeHTTP passes one request on.
func (r *Relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		r.reverse.ServeHTTP(w, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender is gone
	}
	req.Body = http.NoBody
	if len(body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	pass, answered := r.watch(req, body)
	if !pass {
		panic(http.ErrAbortHandler)
	}
	if answered != nil {
		// The write has to happen, even if its sender dies meanwhile.
		req = req.WithContext(context.WithValue(context.WithoutCancel(req.Context()), answeredKey{}, answered))
	}
	r.reverse.ServeHTTP(w, req)
}

// relayed is called with the server's answer, before it is passed back.
func relayed(res *http.Response) error {
	answered, ok := res.Request.Context().Value(answeredKey{}).(func() bool)
	if !ok {
		return nil
	}
	// The server may send its status before it is done, so the whole answer is waited for.
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if !answered() {
		return errKilled
	}
	return nil
}

func unrelayed(w http.ResponseWriter, _ *http.Request, err error) {
	if errors.Is(err, errKilled) {
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "killproxy: the upstream server did not answer", http.StatusBadGateway)
}
