// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"darkshift.io/infrared/internal/testcluster"
)

// fixture is what the kubeconfigs of the tests are made of, each part base64 of PEM.
type fixture struct {
	CA, Cert, Key, OtherKey, Expired, ExpiredKey, Future, FutureKey, RSAKey string
	// Encrypted keys, of the new kind and of the old.
	KeyP8, KeyOld string
	// plain texts
	CAPEM, CertPEM, KeyPEM string
	// Bundle is 200 different certificates, about 300 KB of base64.
	Bundle string
}

// newFixture is the one fixture of all tests: making keys takes long under the race detector.
func newFixture(t testing.TB) fixture {
	t.Helper()
	f, err := sharedFixture()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var sharedFixture = sync.OnceValues(makeFixture)

func makeFixture() (fixture, error) {
	ca, err := testcluster.NewCA()
	if err != nil {
		return fixture{}, err
	}
	var failed error
	now := time.Now()
	issue := func(from, until time.Time) (string, string) {
		cert, key, err := ca.ClientCertificate("case-admin", from, until)
		failed = errors.Join(failed, err)
		return string(cert), string(key)
	}
	var f fixture
	f.CAPEM = string(ca.PEM())
	f.CertPEM, f.KeyPEM = issue(now.Add(-time.Hour), now.AddDate(1, 0, 0))
	f.CA, f.Cert, f.Key = b64(f.CAPEM), b64(f.CertPEM), b64(f.KeyPEM)
	_, other := issue(now.Add(-time.Hour), now.AddDate(1, 0, 0))
	f.OtherKey = b64(other)
	cert, key := issue(now.AddDate(-2, 0, 0), time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC))
	f.Expired, f.ExpiredKey = b64(cert), b64(key)
	cert, key = issue(now.Add(90*time.Second), now.AddDate(1, 0, 0))
	f.Future, f.FutureKey = b64(cert), b64(key)
	f.KeyP8 = b64(string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("S3CR3T")})))
	f.KeyOld = b64(string(pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: []byte("S3CR3T"),
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00112233445566778899AABBCCDDEEFF"},
	})))
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fixture{}, err
	}
	f.RSAKey = b64(string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})))
	bundle, err := makeBundle(200)
	f.Bundle = b64(bundle)
	return f, errors.Join(failed, err)
}

// makeBundle is n different certificates, padded to about the size of RSA ones.
func makeBundle(n int) (string, error) {
	ca, err := testcluster.NewCA()
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for i := range n {
		cert, _, err := ca.ClientCertificate(fmt.Sprintf("ca-%d-%s", i, strings.Repeat("x", 50)), time.Now(), time.Now().AddDate(1, 0, 0))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "# certificate %d%s\n%s", i, strings.Repeat(" of a bundle", 30), cert)
	}
	return all.String(), nil
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// k0 is the kubeconfig of the field cases, in parts that a case changes.
type k0 struct {
	Server, Cluster, Clusters, Contexts, Current, User, Users, Rest string
}

// text puts the parts together. Server and the CA of f are in Cluster unless that is set.
func (k k0) text(f fixture) string {
	or := func(s, standard string) string {
		if s == "" {
			return standard
		}
		return strings.NewReplacer("{{CA}}", f.CA, "{{CRT}}", f.Cert, "{{KEY}}", f.Key).Replace(s)
	}
	server := or(k.Server, "https://192.0.2.10:6443")
	cluster := or(k.Cluster, fmt.Sprintf(`{server: %q, certificate-authority-data: "%s"}`, server, f.CA))
	return strings.Join([]string{
		"apiVersion: v1",
		"kind: Config",
		"clusters: " + or(k.Clusters, "[{name: k, cluster: "+cluster+"}]"),
		"contexts: " + or(k.Contexts, "[{name: c, context: {cluster: k, user: u}}]"),
		or(k.Current, "current-context: c"),
		"users: " + or(k.Users, "[{name: u, user: "+or(k.User, `{token: "S3CR3T.abc"}`)+"}]"),
		or(k.Rest, ""),
	}, "\n") + "\n"
}
