// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testcluster is an API server for tests, benchmarks and demos: it answers what registering a cluster asks for,
// over TLS under a CA of its own, on a loopback address, and can be told to be slow, huge, dead or lying while it runs.
//
// It answers GET /version, GET /api/v1/nodes with paging and GET /api/v1/namespaces/kube-system, below any path prefix, and
// remembers who asked. It is cheap: one listener and a few KB each, so a process can hold hundreds. Since it listens on
// loopback, a dial policy must allow 127.0.0.0/8 to reach it.
package testcluster

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// Options are what a server begins with; the zero value is a good cluster with one node.
type Options struct {
	// CA signs the server's certificate; nil makes a CA for this server. Share one between many servers.
	CA *CA
	// Address is where to listen; empty is a free port of 127.0.0.1.
	Address string
	// Hosts are the names and addresses in the server's certificate; nil is 127.0.0.1, ::1 and localhost.
	Hosts []string
	// Behaviour is how it begins; nil is Good().
	Behaviour *Behaviour
}

// Server is a running API server.
type Server struct {
	ca       *CA
	listener net.Listener
	server   *http.Server
	closing  chan struct{}
	close    sync.Once
	good     tls.Certificate
	expired  tls.Certificate

	mu        sync.Mutex
	behaviour Behaviour
	requests  []Request
	total     int
}

// Request is one request as it came in.
type Request struct {
	// Method, Path and Query are as they were asked for.
	Method, Path, Query string
	// SNI is the server name that the client asked for in TLS; empty for an address.
	SNI string
	// Authorization is the header of that name.
	Authorization string
	// ClientCertificate is the common name of the client's certificate; empty without one.
	ClientCertificate string
	// Accept and UserAgent are the headers of that name.
	Accept, UserAgent string
}

// Start starts a server that is closed when the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatalf("starting a test cluster: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts a server. The caller closes it.
func New(o Options) (*Server, error) {
	var err error
	ca := o.CA
	if ca == nil {
		if ca, err = NewCA(); err != nil {
			return nil, err
		}
	}
	s := &Server{ca: ca, closing: make(chan struct{}), behaviour: Good()}
	if o.Behaviour != nil {
		s.behaviour = o.Behaviour.clone()
	}
	hosts := o.Hosts
	if hosts == nil {
		hosts = []string{"127.0.0.1", "::1", "localhost"}
	}
	now := time.Now()
	if s.good, err = ca.issue(leaf{hosts: hosts, from: now.Add(-time.Hour), until: now.AddDate(1, 0, 0)}); err != nil {
		return nil, err
	}
	if s.expired, err = ca.issue(leaf{hosts: hosts, from: now.AddDate(-2, 0, 0), until: now.AddDate(-1, 0, 0)}); err != nil {
		return nil, err
	}
	address := o.Address
	if address == "" {
		address = "127.0.0.1:0"
	}
	if s.listener, err = net.Listen("tcp", address); err != nil {
		return nil, fmt.Errorf("listening for a test cluster: %w", err)
	}
	s.serve()
	return s, nil
}

func (s *Server) serve() {
	s.server = &http.Server{
		Handler: http.HandlerFunc(s.answer),
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			ClientAuth:     tls.RequestClientCert,
			GetCertificate: s.certificate,
		},
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() { _ = s.server.ServeTLS(s.listener, "", "") }()
}

// certificate picks the certificate by the behaviour of this moment.
func (s *Server) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behaviour.ExpiredCertificate {
		return &s.expired, nil
	}
	return &s.good, nil
}

// Close stops the server and every answer that is under way.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closing)
		_ = s.server.Close()
	})
}

// Address is the host and port it listens on, such as 127.0.0.1:34567.
func (s *Server) Address() string { return s.listener.Addr().String() }

// URL is https:// and the address.
func (s *Server) URL() string { return "https://" + s.Address() }

// CA is the authority that signed the server's certificate.
func (s *Server) CA() *CA { return s.ca }

// Change changes how the server behaves from the next request on.
func (s *Server) Change(change func(*Behaviour)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.behaviour)
}

// Behaviour is a copy of how it behaves now.
func (s *Server) Behaviour() Behaviour {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behaviour.clone()
}

// mostRequests is how many requests are kept; the oldest go first.
const mostRequests = 1000

// Requests are the latest requests, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// RequestCount is how many requests came in all the time.
func (s *Server) RequestCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// record keeps a request and returns the behaviour that answers it.
func (s *Server) record(r *http.Request) Behaviour {
	request := Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, SNI: r.TLS.ServerName, Authorization: r.Header.Get("Authorization"),
		Accept: r.Header.Get("Accept"), UserAgent: r.Header.Get("User-Agent"),
	}
	if len(r.TLS.PeerCertificates) > 0 {
		request.ClientCertificate = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if len(s.requests) == mostRequests {
		s.requests = slices.Delete(s.requests, 0, 1)
	}
	s.requests = append(s.requests, request)
	return s.behaviour.clone()
}
