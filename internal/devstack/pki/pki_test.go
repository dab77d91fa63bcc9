// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack/pki"
)

func ensure(t *testing.T, dir string, now time.Time) pki.Files {
	t.Helper()
	f, err := pki.Ensure(dir, now)
	if err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	return f
}

// verify checks a pair against its authority, for one purpose.
func verify(t *testing.T, f pki.Files, name, issuer string, usage x509.ExtKeyUsage, host string, now time.Time) error {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(f.Cert(name), f.Key(name))
	if err != nil {
		t.Fatalf("loading %s: %v", name, err)
	}
	ca, err := os.ReadFile(f.Cert(issuer))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}, DNSName: host, CurrentTime: now})
	return err
}

func TestCertificates(t *testing.T) {
	now := time.Now()
	f := ensure(t, t.TempDir(), now)
	if err := f.EnsureNode("local", now); err != nil {
		t.Fatalf("EnsureNode: %v", err)
	}
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	tests := map[string]struct {
		reason string
		cert   string
		issuer string
		usage  x509.ExtKeyUsage
		host   string
		good   bool
	}{
		"ServingAddress":    {"The API server is called by its loopback address.", pki.Serving, pki.CA, server, "127.0.0.1", true},
		"ServingService":    {"Pods call it by the name of its Service.", pki.Serving, pki.CA, server, "kubernetes.default.svc", true},
		"ServingElsewhere":  {"It is nobody else.", pki.Serving, pki.CA, server, "example.com", false},
		"Admin":             {"A person is a client.", pki.Admin, pki.CA, client, "", true},
		"AdminAsServer":     {"A client can't pose as the API server.", pki.Admin, pki.CA, server, "", false},
		"ControllerManager": {"Each component has a certificate of its own.", pki.ControllerManager, pki.CA, client, "", true},
		"Scheduler":         {"Each component has a certificate of its own.", pki.Scheduler, pki.CA, client, "", true},
		"Kubelet":           {"The API server is a client of kubelets.", pki.KubeletClient, pki.CA, client, "", true},
		"FrontProxy":        {"Aggregated servers trust another authority.", pki.FrontProxy, pki.FrontProxyCA, client, "", true},
		"FrontProxyAsUser":  {"Whoever may say who the user is must not be a user.", pki.FrontProxy, pki.CA, client, "", false},
		"Node":              {"A node is a client of the API server.", pki.NodeClient("local"), pki.CA, client, "", true},
		"NodeAsServer":      {"With that it can't pose as the API server.", pki.NodeClient("local"), pki.CA, server, "", false},
		"NodeServing":       {"The API server asks it for logs by its loopback address.", pki.NodeServing("local"), pki.CA, server, "127.0.0.1", true},
		"NodeServingClient": {"What it shows then is no user.", pki.NodeServing("local"), pki.CA, client, "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := verify(t, f, tc.cert, tc.issuer, tc.usage, tc.host, now); (err == nil) != tc.good {
				t.Errorf("%s\ngot %v, want good: %t", tc.reason, err, tc.good)
			}
		})
	}
}

// Kubeconfigs and tokens that people hold must survive a restart; what expires
// must not.
func TestEnsureAgain(t *testing.T) {
	dir := t.TempDir()
	start := time.Now()
	f := ensure(t, dir, start)
	kept := []string{f.Cert(pki.CA), f.Key(pki.CA), f.Cert(pki.FrontProxyCA), f.Key(pki.ServiceAccounts), f.PublicKey(pki.ServiceAccounts)}
	before := map[string][]byte{}
	for _, path := range append(kept, f.Cert(pki.Serving)) {
		before[path], _ = os.ReadFile(path)
	}
	later := start.Add(3 * 365 * 24 * time.Hour)
	ensure(t, dir, later)
	for _, path := range kept {
		if after, _ := os.ReadFile(path); !bytes.Equal(before[path], after) {
			t.Errorf("%s was made anew", filepath.Base(path))
		}
	}
	if after, _ := os.ReadFile(f.Cert(pki.Serving)); bytes.Equal(before[f.Cert(pki.Serving)], after) {
		t.Error("the serving certificate was kept")
	}
	if err := verify(t, f, pki.Serving, pki.CA, x509.ExtKeyUsageServerAuth, "127.0.0.1", later); err != nil {
		t.Errorf("three years later the API server can't be trusted: %v", err)
	}
}

func TestDamagedFiles(t *testing.T) {
	tests := map[string]struct {
		reason string
		file   string
		text   string
		want   string
	}{
		"Certificate": {"An authority that can't be read must not be replaced in silence.", "ca.crt", "rubbish", "ca.crt is damaged"},
		"Key":         {"What a broken key holds may still be the key, so it isn't quoted.", "ca.key", "-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0LW1hcmtlcg==\n-----END EC PRIVATE KEY-----\n", "ca.key is damaged"},
		"TokenKey":    {"The same for the key that signs tokens.", "sa.key", "rubbish", "sa.key is damaged"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ensure(t, dir, time.Now())
			if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := pki.Ensure(dir, time.Now())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s\ngot %v, want %q", tc.reason, err, tc.want)
			}
			if strings.Contains(err.Error(), "secret-marker") || strings.Contains(err.Error(), "c2VjcmV0") {
				t.Errorf("the error quotes the key: %v", err)
			}
		})
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	ensure(t, dir, time.Now())
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %v (%v)", e.Name(), info.Mode(), err)
		}
	}
}
