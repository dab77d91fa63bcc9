// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testdns is a name server for tests: it answers for the names it was told about, with another answer each time if
// wanted (rebinding), over UDP on a loopback address, and remembers what it was asked. Every other name does not exist.
package testdns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// Server is a running name server.
type Server struct {
	conn net.PacketConn

	mu    sync.Mutex
	names map[string][][]netip.Addr
	fails map[string]bool
	turns map[string]int
	asked []string
}

// Start starts a name server that is closed when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts a name server. The caller closes it.
func New() (*Server, error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for a name server: %w", err)
	}
	s := &Server{conn: conn, names: map[string][][]netip.Addr{}, fails: map[string]bool{}, turns: map[string]int{}}
	go s.serve()
	return s, nil
}

// Close stops the server.
func (s *Server) Close() { _ = s.conn.Close() }

// Set gives a name its addresses. With several turns each lookup gets the next one, and the last stays.
func (s *Server) Set(name string, turns ...[]netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[absolute(name)] = turns
	for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA} {
		delete(s.turns, absolute(name)+kind.String())
	}
}

// Fail makes the lookup of a name fail for now (SERVFAIL).
func (s *Server) Fail(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails[absolute(name)] = true
}

// Asked is every name that was asked for, sorted, each once, with the dot at its end.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.asked)))
}

// Resolver is a resolver that asks this server and no other.
func (s *Server) Resolver() *net.Resolver {
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "udp", s.conn.LocalAddr().String())
		},
	}
}

// Addrs reads addresses from their text form; it panics on what is none.
func Addrs(texts ...string) []netip.Addr {
	var addrs []netip.Addr
	for _, text := range texts {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs
}

func absolute(name string) string {
	return strings.ToLower(strings.TrimSuffix(name, ".")) + "."
}

func (s *Server) serve() {
	packet := make([]byte, 4096)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var question dnsmessage.Message
		if question.Unpack(packet[:n]) != nil || len(question.Questions) != 1 {
			continue
		}
		if answer, err := s.answer(question); err == nil {
			_, _ = s.conn.WriteTo(answer, from)
		}
	}
}

// answer makes the answer to one question.
func (s *Server) answer(m dnsmessage.Message) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	question := m.Questions[0]
	name := strings.ToLower(question.Name.String())
	s.asked = append(s.asked, name)

	out := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionDesired: m.RecursionDesired, RecursionAvailable: true},
		Questions: m.Questions,
	}
	turns, known := s.names[name]
	switch {
	case s.fails[name]:
		out.RCode = dnsmessage.RCodeServerFailure
	case !known:
		out.RCode = dnsmessage.RCodeNameError
	case len(turns) > 0:
		// A and AAAA are asked for side by side, so each has turns of its own.
		key := name + question.Type.String()
		turn := min(s.turns[key], len(turns)-1)
		s.turns[key] = turn + 1
		out.Answers = records(question, turns[turn])
	}
	return out.Pack()
}

// records are the addresses of the kind that was asked for.
func records(question dnsmessage.Question, addrs []netip.Addr) []dnsmessage.Resource {
	var out []dnsmessage.Resource
	for _, addr := range addrs {
		var body dnsmessage.ResourceBody
		switch {
		case addr.Is4() && question.Type == dnsmessage.TypeA:
			body = &dnsmessage.AResource{A: addr.As4()}
		case addr.Is6() && question.Type == dnsmessage.TypeAAAA:
			body = &dnsmessage.AAAAResource{AAAA: addr.As16()}
		default:
			continue
		}
		out = append(out, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: dnsmessage.ClassINET},
			Body:   body,
		})
	}
	return out
}
