// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/testcluster"
)

// client trusts a server's CA, shows a certificate where there is one, and opens a connection for each request.
func client(s *testcluster.Server, pair ...tls.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.CA().PEM())
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: pair, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get asks for a path and returns the status and the body.
func get(t testing.TB, s *testcluster.Server, path string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	answer, err := client(s).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

type page struct {
	Kind     string
	Metadata struct {
		Continue           string
		RemainingItemCount *int
	}
	Items []struct {
		Metadata struct{ Name string }
		Spec     *struct{ ProviderID string }
	}
}

func list(t testing.TB, s *testcluster.Server, query string, header ...string) page {
	t.Helper()
	_, body := get(t, s, "/api/v1/nodes"+query, header...)
	var p page
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPaging(t *testing.T) {
	b := testcluster.Good()
	b.Nodes = testcluster.Nodes(5)
	s := testcluster.Start(t, testcluster.Options{Behaviour: &b})

	if p := list(t, s, ""); len(p.Items) != 5 || p.Metadata.Continue != "" || p.Metadata.RemainingItemCount != nil || p.Kind != "NodeList" {
		t.Errorf("without a limit: %+v", p)
	}
	p := list(t, s, "?limit=2")
	if len(p.Items) != 2 || p.Metadata.RemainingItemCount == nil || *p.Metadata.RemainingItemCount != 3 {
		t.Fatalf("the first page: %+v", p)
	}
	p = list(t, s, "?limit=500&continue="+p.Metadata.Continue, "Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	if len(p.Items) != 3 || p.Items[0].Metadata.Name != "node-2" || p.Items[0].Spec != nil || p.Kind != "PartialObjectMetadataList" || p.Metadata.Continue != "" {
		t.Errorf("the last page, without specs: %+v", p)
	}
	s.Change(func(b *testcluster.Behaviour) { b.NoCount = true })
	if p := list(t, s, "?limit=1"); p.Metadata.Continue == "" || p.Metadata.RemainingItemCount != nil {
		t.Errorf("without a count: %+v", p)
	}
}

func TestAuthentication(t *testing.T) {
	b := testcluster.Good()
	b.Token, b.Forbidden = "S3CR3T", []string{"/nodes"}
	s := testcluster.Start(t, testcluster.Options{Behaviour: &b})
	cert, key, err := s.CA().ClientCertificate("admin", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := get(t, s, "/version"); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	if code, body := get(t, s, "/version", "Authorization", "Bearer S3CR3T"); code != http.StatusOK || !strings.Contains(body, "v1.31.4") {
		t.Errorf("with the token: %d %s", code, body)
	}
	if code, _ := get(t, s, "/api/v1/nodes", "Authorization", "Bearer S3CR3T"); code != http.StatusForbidden {
		t.Errorf("a forbidden path: %d", code)
	}
	answer, err := client(s, pair).Get(s.URL() + "/version")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("with a certificate of its CA: %d", answer.StatusCode)
	}
	var got []testcluster.Request
	for _, r := range s.Requests() {
		got = append(got, testcluster.Request{Path: r.Path, Authorization: r.Authorization, ClientCertificate: r.ClientCertificate})
	}
	want := []testcluster.Request{
		{Path: "/version"}, {Path: "/version", Authorization: "Bearer S3CR3T"},
		{Path: "/api/v1/nodes", Authorization: "Bearer S3CR3T"}, {Path: "/version", ClientCertificate: "admin"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests, want - got +:\n%s", diff)
	}
}

// Each fault shows, and goes away when it is switched off while the server runs.
func TestFaults(t *testing.T) {
	s := testcluster.Start(t, testcluster.Options{})
	ask := func(ctx context.Context) (int, int64, error) {
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/version", nil)
		if err != nil {
			return 0, 0, err
		}
		answer, err := client(s).Do(req)
		if err != nil {
			return 0, 0, err
		}
		defer func() { _ = answer.Body.Close() }()
		n, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
		return answer.StatusCode, n, err
	}
	late := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	tests := map[string]struct {
		set  func(*testcluster.Behaviour)
		want func(code int, n int64, err error) bool
	}{
		"status":   {func(b *testcluster.Behaviour) { b.Status = 503 }, func(code int, _ int64, err error) bool { return err == nil && code == 503 }},
		"body":     {func(b *testcluster.Behaviour) { b.Body = "x" }, func(code int, n int64, _ error) bool { return code == 200 && n == 1 }},
		"redirect": {func(b *testcluster.Behaviour) { b.Redirect = "https://x" }, func(code int, _ int64, _ error) bool { return code == 302 }},
		"hang":     {func(b *testcluster.Behaviour) { b.Hang = true }, func(_ int, _ int64, err error) bool { return late(err) }},
		"delay":    {func(b *testcluster.Behaviour) { b.Delay = time.Hour }, func(_ int, _ int64, err error) bool { return late(err) }},
		"drip":     {func(b *testcluster.Behaviour) { b.Drip = time.Millisecond }, func(code int, n int64, err error) bool { return code == 200 && n > 1 && late(err) }},
		"cut":      {func(b *testcluster.Behaviour) { b.Cut = true }, func(_ int, _ int64, err error) bool { return err != nil && !late(err) }},
		"expired": {func(b *testcluster.Behaviour) { b.ExpiredCertificate = true }, func(_ int, _ int64, err error) bool {
			var invalid x509.CertificateInvalidError
			return errors.As(err, &invalid) && invalid.Reason == x509.Expired
		}},
		"elsewhere": {func(b *testcluster.Behaviour) { b.Status, b.Only = 503, []string{"/nodes"} }, func(code int, _ int64, _ error) bool { return code == 200 }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			good := s.Behaviour()
			eventually(t, func() bool {
				s.Change(tc.set)
				code, n, err := ask(t.Context())
				s.Change(func(b *testcluster.Behaviour) { *b = good })
				return tc.want(code, n, err)
			})
			eventually(t, func() bool {
				code, _, err := ask(t.Context())
				return err == nil && code == 200
			})
		})
	}
}

// eventually tries again, as on a busy machine one short try can fail for another reason.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about in 20 s")
		}
	}
}

// Large answers go on for as long as somebody reads.
func TestHuge(t *testing.T) {
	for name, set := range map[string]func(*testcluster.Behaviour){
		"huge": func(b *testcluster.Behaviour) { b.Huge = true },
		"list": func(b *testcluster.Behaviour) { b.HugeList = true },
		"bomb": func(b *testcluster.Behaviour) { b.GzipBomb = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := testcluster.Start(t, testcluster.Options{})
			s.Change(set)
			answer, err := client(s).Get(s.URL() + "/version")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			if n, err := io.Copy(io.Discard, io.LimitReader(answer.Body, 16<<20)); n != 16<<20 || err != nil {
				t.Errorf("read %d bytes, %v", n, err)
			}
		})
	}
}

// Hundreds live in one process, each another cluster.
func TestHundreds(t *testing.T) {
	ca, err := testcluster.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	uids := map[string]bool{}
	for range 500 {
		s := testcluster.Start(t, testcluster.Options{CA: ca})
		uids[s.Behaviour().UID] = true
		if len(uids)%100 == 0 {
			if code, _ := get(t, s, "/version"); code != http.StatusOK {
				t.Errorf("one answers %d", code)
			}
		}
	}
	t.Logf("500 servers in %s", time.Since(begin).Round(time.Millisecond))
	if len(uids) != 500 {
		t.Errorf("%d different UIDs, want 500", len(uids))
	}
}

func TestClose(t *testing.T) {
	s, err := testcluster.New(testcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Change(func(b *testcluster.Behaviour) { b.Hang = true })
	done := make(chan error, 1)
	go func() {
		answer, err := client(s).Get(s.URL() + "/version")
		if err == nil {
			_ = answer.Body.Close()
		}
		done <- err
	}()
	eventually(t, func() bool { return s.RequestCount() == 1 })
	s.Close()
	s.Close()
	if err := <-done; err == nil {
		t.Error("a request outlived its server")
	}
}
