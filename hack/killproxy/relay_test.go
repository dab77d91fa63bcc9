// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRelay(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		tls      bool
		method   string
		before   bool // whether the sender lives on
		after    bool
		silent   bool // the watcher does not ask for the answer
		answer   string
		happened []string // in order
	}{
		"passes": {
			reason: "a write that nobody dies at goes through as it is", method: http.MethodPut, before: true, after: true,
			answer: "done: body", happened: []string{"before PUT body", "server PUT body", "after"},
		},
		"over TLS": {
			reason: "the same before a server of https", tls: true, method: http.MethodPut, before: true, after: true,
			answer: "done: body", happened: []string{"before PUT body", "server PUT body", "after"},
		},
		"lost": {
			reason: "a write whose sender died before never happens", method: http.MethodPost, happened: []string{"before POST body"},
		},
		"unheard": {
			reason: "a write whose sender died after it has happened, and nobody hears of it", method: http.MethodDelete, before: true,
			happened: []string{"before DELETE body", "server DELETE body", "after"},
		},
		"unheard over TLS": {
			reason: "the same before a server of https", tls: true, method: http.MethodPatch, before: true,
			happened: []string{"before PATCH body", "server PATCH body", "after"},
		},
		"not asked": {
			reason: "the watcher need not care how it ends", method: http.MethodPost, before: true, silent: true,
			answer: "done: body", happened: []string{"before POST body", "server POST body"},
		},
		"a look": {
			reason: "what changes nothing is nobody's business", method: http.MethodGet, answer: "done: body", happened: []string{"server GET body"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var happened []string
			note := func(text string) { mu.Lock(); defer mu.Unlock(); happened = append(happened, text) }
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				note("server " + r.Method + " " + string(body))
				_, _ = io.WriteString(w, "done: "+string(body))
			}))
			options := RelayOptions{Watch: func(r *http.Request, body []byte) (bool, func() bool) {
				note("before " + r.Method + " " + string(body))
				if c.silent {
					return c.before, nil
				}
				return c.before, func() bool { note("after"); return c.after }
			}}
			if c.tls {
				server.StartTLS()
				options.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			} else {
				server.Start()
			}
			t.Cleanup(server.Close)
			options.Upstream = server.URL
			relay, err := NewRelay(options)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = relay.Close() })
			roots := x509.NewCertPool()
			if c.tls && !roots.AppendCertsFromPEM(relay.CA()) {
				t.Fatal("the relay has no certificate")
			}
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
			t.Cleanup(transport.CloseIdleConnections)
			answer, err := send(t, &http.Client{Transport: transport}, c.method, relay.URL())
			if answer != c.answer || (err != nil) != (c.answer == "") {
				t.Errorf("%s: the answer is %q (%v), want %q", c.reason, answer, err, c.answer)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(c.happened, happened); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func send(t *testing.T, client *http.Client, method, url string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url+"/thing", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func TestNewRelayRefuses(t *testing.T) {
	for name, c := range map[string]struct{ reason, upstream, want string }{
		"no address": {"an address without a scheme leads nowhere", "127.0.0.1:1", "want an address such as"},
		"no CA":      {"whom to trust has to be said", "https://127.0.0.1:1", "holds no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewRelay(RelayOptions{Upstream: c.upstream}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
			}
		})
	}
}
