// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testcluster/testdns"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
)

func serverVersion(c *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c)
	if err != nil {
		return "", err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// Servers that are dead, slow, huge or lying give an error of a kind, soon, and the same text twice.
func TestConnectFails(t *testing.T) {
	type behaviour = testcluster.Behaviour
	only := func(suffix string, change func(*behaviour)) func(*behaviour) {
		return func(b *behaviour) { b.Only = []string{suffix}; change(b) }
	}
	endless := strings.Repeat(`{"a":`, 12_000)
	tests := map[string]struct {
		reason string
		set    func(*behaviour)
		kind   connect.Kind
		match  string
	}{
		"401":             {"a withdrawn token", func(b *behaviour) { b.Token = "another" }, connect.Unauthorized, `does not take the credential`},
		"403":             {"an account that may nothing", func(b *behaviour) { b.Forbidden = []string{"/version"} }, connect.Forbidden, `ClusterRole`},
		"503":             {"no etcd", func(b *behaviour) { b.Status = 503 }, connect.Unreachable, `503`},
		"500 nodes":       {"a fault in the middle leaves no half result", only("/nodes", func(b *behaviour) { b.Status = 500 }), connect.Unreachable, `500.*nodes`},
		"429":             {"too many requests", func(b *behaviour) { b.Status = 429 }, connect.Unreachable, `429`},
		"418":             {"something else", func(b *behaviour) { b.Status = 418 }, connect.NotKubernetes, `418`},
		"404":             {"a web server", func(b *behaviour) { b.Status = 404 }, connect.NotKubernetes, `not as a Kubernetes`},
		"redirect":        {"never followed", func(b *behaviour) { b.Redirect = "https://198.41.0.4/S3CR3T" }, connect.NotKubernetes, `redirect`},
		"garbage":         {"a login page", func(b *behaviour) { b.Body = "<html>S3CR3T</html>" }, connect.NotKubernetes, `no JSON`},
		"empty":           {"200 and nothing", func(b *behaviour) { b.Body = " " }, connect.NotKubernetes, `no JSON`},
		"other JSON":      {"not our JSON", func(b *behaviour) { b.Body = `{"hello":"S3CR3T"}` }, connect.NotKubernetes, `not as a Kubernetes`},
		"odd version":     {"a version that would be shown", func(b *behaviour) { b.Version = "v1.31<script>S3CR3T" }, connect.NotKubernetes, `not as a Kubernetes`},
		"long version":    {"too long to be shown", func(b *behaviour) { b.Version = "v1.31." + strings.Repeat("1", 200) }, connect.NotKubernetes, `not as a Kubernetes`},
		"deep":            {"brackets in brackets", func(b *behaviour) { b.Body = endless }, connect.NotKubernetes, `no JSON`},
		"odd UID":         {"a UID that would be shown", func(b *behaviour) { b.UID = "S3CR3T S3CR3T" }, connect.NotKubernetes, `kube-system`},
		"no UID":          {"an answer without one", func(b *behaviour) { b.UID = "" }, connect.NotKubernetes, `kube-system`},
		"nodes a map":     {"another shape", only("/nodes", func(b *behaviour) { b.Body = `{"kind":"NodeList","items":{}}` }), connect.NotKubernetes, `no JSON`},
		"nodes of others": {"another kind", only("/nodes", func(b *behaviour) { b.Body = `{"kind":"PodList","items":[]}` }), connect.NotKubernetes, `nodes`},
		"cut":             {"broken off in the middle", func(b *behaviour) { b.Cut = true }, connect.Unreachable, `breaks the connection off`},
		"hang":            {"never answers", func(b *behaviour) { b.Hang = true }, connect.Timeout, `in time, which is 500ms`},
		"hang in nodes":   {"answers once, then never", only("/nodes", func(b *behaviour) { b.Hang = true }), connect.Timeout, `in time`},
		"slow":            {"answers too late", func(b *behaviour) { b.Delay = time.Minute }, connect.Timeout, `in time`},
		"drip":            {"a byte now and then", func(b *behaviour) { b.Drip = 50 * time.Millisecond }, connect.Timeout, `in time`},
		"huge":            {"gigabytes", func(b *behaviour) { b.Huge = true }, connect.NotKubernetes, `too much`},
		"huge kube-system": {"gigabytes at the end", only("/kube-system", func(b *behaviour) { b.Huge = true }), connect.NotKubernetes,
			`too much`},
		"huge nodes": {"one node without an end", only("/nodes", func(b *behaviour) { b.Huge = true }), connect.NotKubernetes, `too much`},
		"huge list":  {"nodes without an end", only("/nodes", func(b *behaviour) { b.HugeList = true }), connect.NotKubernetes, `too much`},
		"bomb":       {"a few bytes that grow", func(b *behaviour) { b.GzipBomb = true }, connect.NotKubernetes, `too much`},
		"headers": {"a header without an end", func(b *behaviour) { b.Header = map[string]string{"X-S3CR3T": strings.Repeat("x", 900<<10)} },
			connect.Unreachable, `breaks the connection off`},
		"expired": {"the server's certificate is over", func(b *behaviour) { b.ExpiredCertificate = true }, connect.CertificateInvalid, `valid from \S+ to \S+ only`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			quickly(t, 25*time.Second)
			s := testcluster.Start(t, behaving(tc.set))
			to := target(t, s)
			if tc.kind == connect.Unauthorized {
				to.Config.Token = kubeconfig.NewSecret("S3CR3T")
			}
			if tc.kind == connect.Timeout {
				to.Timeout = 500 * time.Millisecond
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, first := connect.Connect(t.Context(), to)
			runtime.ReadMemStats(&after)
			wantError(t, first, tc.kind, tc.match)
			// The server's own allocations are in it too.
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 128 {
				t.Errorf("%d MiB were allocated", allocated)
			}
			if _, second := connect.Connect(t.Context(), to); second == nil || second.Error() != first.Error() {
				t.Errorf("two texts for one cause:\n%v\n%v", first, second)
			}
		})
	}
}

// A server's number of nodes is not believed when it can't be true; everything else still is.
func TestLyingCounts(t *testing.T) {
	for name, body := range map[string]string{
		"huge":         `{"kind":"NodeList","metadata":{"continue":"x","remainingItemCount":9223372036854775807},"items":[{}]}`,
		"negative":     `{"kind":"NodeList","metadata":{"continue":"x","remainingItemCount":-5},"items":[{}]}`,
		"a million":    `{"kind":"NodeList","metadata":{"continue":"x","remainingItemCount":1000000},"items":[{}]}`,
		"endless list": `{"kind":"NodeList","metadata":{"continue":"x"},"items":[{}]}`,
		"long token":   `{"kind":"NodeList","metadata":{"continue":"` + strings.Repeat("x", 10<<10) + `"},"items":[{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			quickly(t, 15*time.Second)
			s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) { b.Only, b.Body = []string{"/nodes"}, body }))
			got, err := connect.Connect(t.Context(), target(t, s))
			if err != nil {
				t.Fatal(err)
			}
			if got.Nodes != nil || got.NodesUnknown == "" || got.Version == "" || got.UID == "" {
				t.Errorf("Connect gave %+v, want an unknown number with a reason", got)
			}
			if asked := s.RequestCount(); asked > 30 {
				t.Errorf("it took %d requests", asked)
			}
		})
	}
}

func TestNothingListens(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{})
	to := target(t, s)
	s.Close()
	_, err := connect.Connect(t.Context(), to)
	wantError(t, err, connect.Unreachable, `nothing listens`)
}

// Something that accepts and says nothing, and something that speaks no TLS.
func TestNotTLS(t *testing.T) {
	for name, tc := range map[string]struct {
		says  string
		kind  connect.Kind
		match string
	}{
		"silent": {"", connect.Timeout, `in time`},
		"SSH":    {"SSH-2.0-OpenSSH_9.6\r\n", connect.NotKubernetes, `does not speak TLS`},
		"HTTP":   {"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request", connect.NotKubernetes, `does not speak TLS`},
	} {
		t.Run(name, func(t *testing.T) {
			quickly(t, 15*time.Second)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = listener.Close() })
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Write([]byte(tc.says))
					t.Cleanup(func() { _ = conn.Close() })
				}
			}()
			_, err = connect.Connect(t.Context(), connect.Target{
				Config:  &kubeconfig.Config{Server: "https://" + listener.Addr().String(), Token: kubeconfig.NewSecret("S3CR3T")},
				Policy:  local(),
				Timeout: 500 * time.Millisecond,
			})
			wantError(t, err, tc.kind, tc.match)
		})
	}
}

func TestWrongCA(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{})
	other, err := testcluster.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	config := read(t, s.Kubeconfig(testcluster.KubeconfigOptions{CA: other.PEM()}))
	_, err = connect.Connect(t.Context(), connect.Target{Config: config, Policy: local()})
	wantError(t, err, connect.CertificateInvalid, `certificate-authority-data has not signed`)

	config = read(t, s.Kubeconfig(testcluster.KubeconfigOptions{NoCA: true}))
	_, err = connect.Connect(t.Context(), connect.Target{Config: config, Policy: local()})
	wantError(t, err, connect.CertificateInvalid, `no CA of this system`)
	if s.RequestCount() > 0 {
		t.Error("a request, and with it the token, was sent to a server that was not trusted")
	}
}

func TestExpiredToken(t *testing.T) {
	s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) { b.Token = "another" }))
	to := target(t, s)
	to.Config.Token = kubeconfig.NewSecret(jwt("system:serviceaccount:kube-system:infrared", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	to.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC) }
	_, err := connect.Connect(t.Context(), to)
	wantError(t, err, connect.Unauthorized, `kube-system/infrared, which expired at 2026-01-02T03:04:05Z`)
}

func TestCancelled(t *testing.T) {
	s := testcluster.Start(t, behaving(func(b *testcluster.Behaviour) { b.Hang = true }))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := connect.Connect(ctx, target(t, s))
	var e *connect.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("got %v, want context.Canceled, which is no fault of the cluster", err)
	}
}

func TestInvalidTargets(t *testing.T) {
	good := kubeconfig.Config{Server: "https://192.0.2.1", Token: kubeconfig.NewSecret("S3CR3T")}
	but := func(change func(*kubeconfig.Config)) *kubeconfig.Config {
		c := good
		change(&c)
		return &c
	}
	for name, tc := range map[string]struct {
		config *kubeconfig.Config
		match  string
	}{
		"none":   {nil, `no kubeconfig`},
		"http":   {but(func(c *kubeconfig.Config) { c.Server = "http://192.0.2.1" }), `https`},
		"CA":     {but(func(c *kubeconfig.Config) { c.CAData = []byte("x") }), `CA`},
		"client": {but(func(c *kubeconfig.Config) { c.ClientCertData = []byte("x") }), `client certificate`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connect.Connect(t.Context(), connect.Target{Config: tc.config, Policy: local()})
			wantError(t, err, connect.Invalid, tc.match)
		})
	}
}

// Field case H03: a cluster of an organisation is reached at public addresses only, and what is refused is refused with one
// text, whether or not something would have answered.
func TestOrgReachesPublicAddressesOnly(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{Hosts: []string{"public.example.net", "198.41.0.4", "10.0.0.1"}})
	names := map[string][]netip.Addr{
		"public.example.net": testdns.Addrs("198.41.0.4"),
		"rebind.example.net": testdns.Addrs("10.0.0.5"),
		"mixed.example.net":  testdns.Addrs("198.41.0.4", "10.0.0.5"),
	}
	refused := []string{
		"169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "10.0.0.1", "172.31.255.1", "192.168.1.1",
		"100.64.0.1", "127.0.0.2", "0.0.0.0", "[::1]", "[fe80::1]", "2130706433", "0x7f000001", "127.1", "kubernetes.default.svc",
		"metadata.google.internal", "rebind.example.net", "mixed.example.net", "localhost.", "localhost", "127.0.0.1", "unknown.example.net",
	}
	ask := func(host string, policy dial.Policy) error {
		config := read(t, s.Kubeconfig(testcluster.KubeconfigOptions{Server: "https://" + host + ":6443"}))
		_, err := connect.Connect(t.Context(), connect.Target{Config: config, Policy: elsewhere(t, policy, s, names)})
		return err
	}
	texts := map[string]bool{}
	for _, host := range refused {
		err := ask(host, dial.PublicOnly())
		wantError(t, err, connect.AddressRefused, `private|public|address|resolve`)
		if err != nil {
			texts[strings.ReplaceAll(err.Error(), strings.Trim(host, "[]"), "HOST")] = true
		}
	}
	if len(texts) != 1 {
		t.Errorf("%d texts, which tells them apart: %v", len(texts), texts)
	}
	if s.RequestCount() > 0 {
		t.Fatalf("a refused address was dialled: %v", s.Requests())
	}
	for _, host := range []string{"public.example.net", "198.41.0.4"} {
		if err := ask(host, dial.PublicOnly()); err != nil {
			t.Errorf("%s of an organisation: %v", host, err)
		}
	}
	if err := ask("10.0.0.1", dial.Platform()); err != nil {
		t.Errorf("10.0.0.1 of the platform: %v", err)
	}
}

// Field case A14: for the platform the message says what is wrong with these.
func TestPlatformDoesNotReachItself(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{})
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0"} {
		config := read(t, s.Kubeconfig(testcluster.KubeconfigOptions{Server: "https://" + host + ":6443"}))
		policy := elsewhere(t, dial.Platform(), s, map[string][]netip.Addr{"localhost": testdns.Addrs("127.0.0.1")})
		_, err := connect.Connect(t.Context(), connect.Target{Config: config, Policy: policy})
		wantError(t, err, connect.AddressRefused, `loopback|127\.0\.0\.1|localhost|0\.0\.0\.0|this machine`)
	}
	if s.RequestCount() > 0 {
		t.Error("a refused address was dialled")
	}
}

// Names that do not resolve: for the platform in words, for an organisation as in the test above.
func TestUnknownName(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{})
	config := &kubeconfig.Config{Server: "https://unknown.example.net", Token: kubeconfig.NewSecret(base64.StdEncoding.EncodeToString([]byte("S3CR3T")))}
	_, err := connect.Connect(t.Context(), connect.Target{Config: config, Policy: elsewhere(t, dial.Platform(), s, nil)})
	wantError(t, err, connect.Unreachable, `does not resolve`)
}
