// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"darkshift.io/infrared/sdk/kubeconfig"
)

// The test binary is also the program that the tests kill: started with this variable, it is a toy that works on the
// toy server instead of running the tests.
const toyVariable = "KILLPROXY_TEST_TOY"

// donePath is what a toy writes when its work is done; the body is the toy's birth number.
const donePath = "/api/v1/namespaces/toy/configmaps/done"

func TestMain(m *testing.M) {
	if kind := os.Getenv(toyVariable); kind != "" {
		if err := runToy(kind, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// toyServer stands in for an API server: it keeps bodies by path, and can wait for a change.
type toyServer struct {
	*httptest.Server

	mu      sync.Mutex
	objects map[string]string
	added   int           // for names that the server gives
	changed chan struct{} // closed and made anew with each change
	tokens  map[string]bool
	protos  map[string]bool
}

func newToyServer(t *testing.T) *toyServer {
	t.Helper()
	s := &toyServer{
		objects: map[string]string{}, changed: make(chan struct{}),
		tokens: map[string]bool{}, protos: map[string]bool{},
	}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s
}

func (s *toyServer) caPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func (s *toyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.tokens[r.Header.Get("Authorization")] = true
	s.protos[r.Proto] = true
	s.mu.Unlock()
	switch {
	case r.URL.Query().Has("watch"):
		s.watch(w, r)
	case r.Method == http.MethodGet:
		s.mu.Lock()
		defer s.mu.Unlock()
		object, ok := s.objects[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, object)
	default:
		s.write(r.Method, r.URL.Path, string(body))
		w.WriteHeader(http.StatusOK)
	}
}

func (s *toyServer) write(method, path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case http.MethodDelete:
		delete(s.objects, path)
	case http.MethodPost:
		s.added++
		s.objects[fmt.Sprintf("%s/generated-%d", path, s.added)] = body
	default:
		s.objects[path] = body
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// watch sends one line for each change until the client goes.
func (s *toyServer) watch(w http.ResponseWriter, r *http.Request) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		fmt.Fprintln(w, "changed")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// wait waits until the objects are as wanted.
func (s *toyServer) wait(ctx context.Context, ok func(objects map[string]string) bool) error {
	for {
		s.mu.Lock()
		done, changed := ok(s.objects), s.changed
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.New("the objects never were as wanted")
		}
	}
}

// names are the objects' paths, sorted, on one line.
func (s *toyServer) names() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(s.objects)), " ")
}

func (s *toyServer) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
	s.added = 0
}

// proxyClient is an HTTP client of a kubeconfig's server, and the server's address.
func proxyClient(data []byte) (*http.Client, string, error) {
	config, err := kubeconfig.Read(data)
	if err != nil {
		return nil, "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	return &http.Client{Transport: withToken{transport, config.Token.Reveal()}}, config.Server, nil
}

type withToken struct {
	next  *http.Transport
	token string
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.next.RoundTrip(r)
}

// runToy is the program under test. Its kinds:
//
//   - good looks before it writes
//   - forgetful adds again what it may have added before
//   - fragile ends when it finds that it was there before
//   - moody does its work in another order every second run
//   - shy writes something in one process only
func runToy(kind, kubeconfigPath, birth string) error {
	data, err := os.ReadFile(kubeconfigPath)
	if err != nil {
		return err
	}
	client, server, err := proxyClient(data)
	if err != nil {
		return err
	}
	for _, step := range toySteps(kind, birth) {
		method, path, _ := strings.Cut(step, " ")
		if method == "ENSURE" {
			found, err := ensure(client, server+path)
			if err != nil {
				return err
			}
			if found && kind == "fragile" {
				return errors.New("it is there already")
			}
			continue
		}
		if _, err := do(client, method, server+path, "x"); err != nil {
			return err
		}
	}
	if _, err := do(client, http.MethodPut, server+donePath, birth); err != nil {
		return err
	}
	select {} // a controller never ends
}

func toySteps(kind, birth string) []string {
	const (
		ensureA = "ENSURE /api/v1/namespaces/toy/configmaps/a"
		ensureB = "ENSURE /api/v1/namespaces/toy/configmaps/b"
		remove  = "DELETE /api/v1/namespaces/toy/secrets/input"
		add     = "POST /api/v1/namespaces/toy/configmaps"
	)
	n, _ := strconv.Atoi(birth)
	switch {
	case kind == "forgetful":
		return []string{add}
	case kind == "moody" && n%4 == 1:
		return []string{remove, ensureA}
	case kind == "moody":
		return []string{ensureA, remove}
	case kind == "shy" && n == 2:
		return []string{ensureA, remove}
	case kind == "shy":
		return []string{ensureA}
	}
	return []string{ensureA, ensureB, remove}
}

// ensure puts an object that is not there, and tells whether it was.
func ensure(client *http.Client, address string) (found bool, err error) {
	code, err := do(client, http.MethodGet, address, "")
	if err != nil || code == http.StatusOK {
		return true, err
	}
	_, err = do(client, http.MethodPut, address, "x")
	return false, err
}

func do(client *http.Client, method, address, body string) (int, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, address, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Body.Close()
}

// births counts the processes of a toy.
type births struct {
	mu    sync.Mutex
	count int
}

func (b *births) latest() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprint(b.count)
}

// toyCommand builds the toy of a kind, with a proxy's kubeconfig in a file and its birth number.
func toyCommand(t *testing.T, p *Proxy, kind string, b *births) func() *exec.Cmd {
	t.Helper()
	path := t.TempDir() + "/kubeconfig"
	if err := os.WriteFile(path, p.Kubeconfig("toy-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() *exec.Cmd {
		b.mu.Lock()
		b.count++
		b.mu.Unlock()
		cmd := exec.Command(os.Args[0], path, b.latest())
		cmd.Env = append(os.Environ(), toyVariable+"="+kind)
		return cmd
	}
}

func newToyProxy(t *testing.T, s *toyServer) *Proxy {
	t.Helper()
	p, err := New(Options{Upstream: s.URL, CA: s.caPEM()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}
