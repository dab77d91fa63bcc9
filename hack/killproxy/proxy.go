// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package killproxy finds out whether a program survives being killed at any point where it changes the world.
//
// A reverse proxy stands between a program and a Kubernetes API server (or any other HTTPS server) and counts the
// program's writes. Armed with a number, it kills the program at that write: before the request goes on, so that the
// server never hears of it, or after the server has answered and before the program learns so. Those are the two
// points between which nothing else a crash could separate.
//
// Explore, and Run for tests, do one job without a kill to learn its writes, and then once for each write and
// side, each time killing the program there and starting it again. Every run must come to the same end. Nobody chooses
// the points: a write that is added to the program later is killed at, too.
//
// The program must authenticate with a bearer token. The proxy ends TLS, so a client certificate does not get through.
package killproxy

import (
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
	"sync"

	"darkshift.io/infrared/sdk/kubeconfig"
)

// Options says what a Proxy stands in front of.
type Options struct {
	// Upstream is the server's address, such as https://127.0.0.1:6443.
	Upstream string
	// CA holds the PEM certificates that the server's own must chain to.
	CA []byte
	// Counts tells whether a request is a write to kill at. Nil means CountsAsWrite.
	Counts func(*http.Request) bool
}

// Proxy is a running proxy on a free loopback port. Its methods may be called from any goroutine.
type Proxy struct {
	address string
	caPEM   []byte
	counts  func(*http.Request) bool
	reverse *httputil.ReverseProxy
	server  *http.Server
	served  chan struct{}

	mu sync.Mutex
	// era grows by one with each kill. A connection belongs to the era it was accepted in, and one of an earlier era
	// belongs to a program that is dead, so nothing more of what it sent may pass.
	era     int
	conns   map[net.Conn]int
	writes  []*Write
	trigger *trigger
	fired   *call
}

// New starts a proxy in front of the server that the options name. Close stops it.
func New(o Options) (*Proxy, error) {
	upstream, err := url.Parse(o.Upstream)
	if err != nil || upstream.Scheme != "https" || upstream.Host == "" {
		return nil, fmt.Errorf("upstream %q: want an address such as https://127.0.0.1:6443", o.Upstream)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("upstream CA: holds no PEM certificate")
	}
	certificate, caPEM, err := servingCertificate()
	if err != nil {
		return nil, fmt.Errorf("making the proxy's certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}

	p := &Proxy{
		address: "https://" + listener.Addr().String(),
		caPEM:   caPEM,
		counts:  o.Counts,
		served:  make(chan struct{}),
		conns:   map[net.Conn]int{},
	}
	if p.counts == nil {
		p.counts = CountsAsWrite
	}
	p.reverse = p.reverseProxy(upstream, roots)
	p.server = &http.Server{
		Handler:     p,
		ConnContext: p.opened,
		ConnState:   p.changed,
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		// A killed program leaves broken handshakes and connections behind. They are what this package is for.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		defer close(p.served)
		_ = p.server.ServeTLS(listener, "", "")
	}()
	return p, nil
}

// Close stops the proxy and cuts every connection through it, watches too.
func (p *Proxy) Close() error {
	err := p.server.Close()
	<-p.served
	if transport, ok := p.reverse.Transport.(*http.Transport); ok {
		transport.CloseIdleConnections()
	}
	if err != nil {
		return fmt.Errorf("stopping the proxy: %w", err)
	}
	return nil
}

// URL is the proxy's own address, such as https://127.0.0.1:40123.
func (p *Proxy) URL() string { return p.address }

// CA is the PEM certificate that clients of the proxy must trust.
func (p *Proxy) CA() []byte { return append([]byte(nil), p.caPEM...) }

// Kubeconfig is a kubeconfig for a client of the proxy that has this bearer token. All of it is inline.
func (p *Proxy) Kubeconfig(token string) []byte {
	return kubeconfig.Write(kubeconfig.Config{
		ContextName: "killproxy",
		Server:      p.address,
		CAData:      p.caPEM,
		Token:       kubeconfig.NewSecret(token),
	})
}

func (p *Proxy) reverseProxy(upstream *url.URL, roots *x509.CertPool) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport: &http.Transport{
			TLSClientConfig:    &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:  true,
			DisableCompression: true, // bytes go through as they are
		},
		FlushInterval:  -1, // a watch event goes on at once
		ModifyResponse: p.answered,
		ErrorHandler:   p.unanswered,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
}

// eraKey is the context key of the era that a request's connection was accepted in.
type eraKey struct{}

func (p *Proxy) opened(ctx context.Context, conn net.Conn) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = p.era
	return context.WithValue(ctx, eraKey{}, p.era)
}

func (p *Proxy) changed(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// cut closes every connection of an earlier era.
func (p *Proxy) cut() {
	p.mu.Lock()
	var old []net.Conn
	for conn, era := range p.conns {
		if era < p.era {
			old = append(old, conn)
		}
	}
	p.mu.Unlock()
	// Closing calls back into changed, which takes the lock.
	for _, conn := range old {
		_ = conn.Close()
	}
}
