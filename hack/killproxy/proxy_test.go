// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"bufio"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	pathA = "/api/v1/namespaces/toy/configmaps/a"
	pathB = "/api/v1/namespaces/toy/configmaps/b"
)

func newToyClient(t *testing.T, p *Proxy) *http.Client {
	t.Helper()
	client, server, err := proxyClient(p.Kubeconfig("toy-token"))
	if err != nil {
		t.Fatal(err)
	}
	if server != p.URL() {
		t.Fatalf("want the kubeconfig to name %s, got %s", p.URL(), server)
	}
	return client
}

func TestProxyPassesThrough(t *testing.T) {
	server := newToyServer(t)
	proxy := newToyProxy(t, server)
	client := newToyClient(t, proxy)

	for _, method := range []string{http.MethodPut, http.MethodGet, http.MethodDelete, http.MethodGet} {
		if _, err := do(client, method, proxy.URL()+pathA, "x"); err != nil {
			t.Fatal(err)
		}
	}

	want := []Write{
		{Verb: "update", Path: "/api/v1/namespaces/toy/configmaps/{name}", Code: 200},
		{Verb: "delete", Path: "/api/v1/namespaces/toy/configmaps/{name}", Code: 200},
	}
	if diff := cmp.Diff(want, proxy.Writes()); diff != "" {
		t.Errorf("writes are listed with the server's answers, reads are not; -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"Bearer toy-token": true}, server.tokens); diff != "" {
		t.Errorf("the client's token reaches the server, and nothing else does; -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"HTTP/2.0": true}, server.protos); diff != "" {
		t.Errorf("the server is spoken to in HTTP/2; -want +got:\n%s", diff)
	}
	proxy.Disarm()
	if got := proxy.Writes(); len(got) != 0 {
		t.Errorf("Disarm begins a new list, got %v", got)
	}
}

func TestProxyStreamsWatches(t *testing.T) {
	server := newToyServer(t)
	proxy := newToyProxy(t, server)
	client := newToyClient(t, proxy)

	res, err := client.Get(proxy.URL() + "/api/v1/namespaces/toy/configmaps?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.Proto != "HTTP/2.0" {
		t.Errorf("want the proxy to speak HTTP/2, got %s", res.Proto)
	}
	// Each line is read before the next event is made, so this hangs if the proxy holds an event back.
	lines := bufio.NewScanner(res.Body)
	for range 3 {
		if !lines.Scan() {
			t.Fatalf("the watch ended early: %v", lines.Err())
		}
		server.write(http.MethodPut, pathA, "x")
	}
}

func TestProxyKills(t *testing.T) {
	cases := map[string]struct {
		reason  string
		arm     func(p *Proxy, kill func())
		objects string
		fired   Write
		writes  int
	}{
		"Before": {
			reason: "the second write never reaches the server",
			arm:    func(p *Proxy, kill func()) { p.Arm(2, Before, kill) },
			fired:  Write{Verb: "update", Path: "/api/v1/namespaces/toy/configmaps/{name}"}, objects: pathA, writes: 2,
		},
		"After": {
			reason:  "the second write reaches the server, and its answer goes no further",
			arm:     func(p *Proxy, kill func()) { p.Arm(2, After, kill) },
			fired:   Write{Verb: "update", Path: "/api/v1/namespaces/toy/configmaps/{name}", Code: 200},
			objects: pathA + " " + pathB, writes: 2,
		},
		"ByName": {
			reason:  "a write is met by its verb and path, whatever its place",
			arm:     func(p *Proxy, kill func()) { p.ArmAt(Write{Verb: "create", Path: "/api/v1/namespaces"}, Before, kill) },
			fired:   Write{Verb: "create", Path: "/api/v1/namespaces"},
			objects: pathA + " " + pathB, writes: 3,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newToyServer(t)
			proxy := newToyProxy(t, server)
			client := newToyClient(t, proxy)
			var kills atomic.Int32
			tc.arm(proxy, func() { kills.Add(1) })

			var failed error
			for _, step := range []string{"PUT " + pathA, "PUT " + pathB, "POST /api/v1/namespaces"} {
				method, path, _ := strings.Cut(step, " ")
				if _, failed = do(client, method, proxy.URL()+path, "x"); failed != nil {
					break
				}
			}

			if failed == nil || kills.Load() != 1 {
				t.Fatalf("%s: want one kill and no answer, got %d and %v", tc.reason, kills.Load(), failed)
			}
			if diff := cmp.Diff(tc.objects, server.names()); diff != "" {
				t.Errorf("%s: objects, -want +got:\n%s", tc.reason, diff)
			}
			fired, ok := proxy.Fired()
			if diff := cmp.Diff(tc.fired, fired); !ok || diff != "" {
				t.Errorf("%s: fired %t, -want +got:\n%s", tc.reason, ok, diff)
			}
			if got := proxy.Writes(); len(got) != tc.writes {
				t.Errorf("%s: want %d writes, got %v", tc.reason, tc.writes, got)
			}
			if _, err := do(newToyClient(t, proxy), http.MethodPut, proxy.URL()+pathB, "x"); err != nil {
				t.Errorf("a new connection passes after the kill: %v", err)
			}
		})
	}
}

func TestProxyStopsTheDead(t *testing.T) {
	server := newToyServer(t)
	proxy := newToyProxy(t, server)
	client := newToyClient(t, proxy)

	// The kill stands still while the program, not yet dead, sends another write on the connection it has.
	late := make(chan error, 1)
	proxy.Arm(1, Before, func() {
		_, err := do(client, http.MethodPut, proxy.URL()+pathB, "x")
		late <- err
	})
	if _, err := do(client, http.MethodPut, proxy.URL()+pathA, "x"); err == nil {
		t.Error("want no answer at the kill")
	}
	if err := <-late; err == nil || server.names() != "" {
		t.Errorf("nothing of the dying program passes any more, got %v and objects %q", err, server.names())
	}
}

func TestProxyWithoutUpstream(t *testing.T) {
	server := newToyServer(t)
	proxy := newToyProxy(t, server)
	client := newToyClient(t, proxy)
	server.CloseClientConnections()
	server.Close()

	code, err := do(client, http.MethodPut, proxy.URL()+pathA, "x")
	if err != nil || code != http.StatusBadGateway {
		t.Errorf("a server that is gone is a bad gateway, got %d, %v", code, err)
	}
	var kills atomic.Int32
	proxy.Arm(1, After, func() { kills.Add(1) })
	if _, err := do(client, http.MethodPut, proxy.URL()+pathA, "x"); err == nil || kills.Load() != 1 {
		t.Errorf("a kill after an answer that never comes happens all the same, got %d and %v", kills.Load(), err)
	}
}

func TestNewRefuses(t *testing.T) {
	cases := map[string]struct {
		reason  string
		options Options
		want    string
	}{
		"Plain":   {reason: "without TLS there is nothing to stand in for", options: Options{Upstream: "http://127.0.0.1:1"}, want: "upstream"},
		"NoHost":  {reason: "an address needs a host", options: Options{Upstream: "https://"}, want: "upstream"},
		"Garbage": {reason: "what is no address is named", options: Options{Upstream: "https://%zz"}, want: "upstream"},
		"NoCA": {
			reason:  "the server's certificate is always judged",
			options: Options{Upstream: "https://127.0.0.1:1", CA: []byte("nothing")}, want: "upstream CA",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
