// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates and keys of one control plane.
//
// The certificate authorities and the key that signs ServiceAccount tokens are
// made once and kept: a kubeconfig that somebody holds must still be good
// after a restart. All other certificates are made anew at each start, so they never
// expire on a stack that is used. Everything is on loopback and made for one
// machine; nothing here is fit for a cluster that others can reach.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	// backdate covers clocks that were set back a little since.
	backdate = 5 * time.Minute
)

// Names of the pairs that Ensure writes: <name>.crt and <name>.key.
const (
	CA                = "ca"                 // signs everything below but FrontProxy
	FrontProxyCA      = "front-proxy-ca"     // signs FrontProxy alone
	Serving           = "apiserver"          // what the API server shows
	KubeletClient     = "kubelet-client"     // API server to kubelet
	FrontProxy        = "front-proxy"        // API server to aggregated API servers
	Admin             = "admin"              // a person, in system:masters
	ControllerManager = "controller-manager" // kube-controller-manager
	Scheduler         = "scheduler"          // kube-scheduler

	// ServiceAccounts is a bare key pair, sa.key and sa.pub, that signs tokens.
	ServiceAccounts = "sa"
)

// Files gives the paths in one folder of certificates.
type Files struct{ Dir string }

// Cert is the path of a certificate.
func (f Files) Cert(name string) string { return filepath.Join(f.Dir, name+".crt") }

// Key is the path of a private key.
func (f Files) Key(name string) string { return filepath.Join(f.Dir, name+".key") }

// PublicKey is the path of a bare public key.
func (f Files) PublicKey(name string) string { return filepath.Join(f.Dir, name+".pub") }

// leaf says what a certificate below an authority is for.
type leaf struct {
	name     string
	issuer   string
	user     string   // common name: the user, to Kubernetes
	groups   []string // organizations: its groups
	hosts    []string // DNS names of a server
	ips      []net.IP // addresses of a server
	purposes []x509.ExtKeyUsage
}

func leaves() []leaf {
	server := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return []leaf{
		{
			name: Serving, issuer: CA, user: "kube-apiserver", purposes: server,
			hosts: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			ips:   []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		},
		{name: KubeletClient, issuer: CA, user: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}, purposes: client},
		{name: FrontProxy, issuer: FrontProxyCA, user: "front-proxy-client", purposes: client},
		{name: Admin, issuer: CA, user: "infrared-dev-admin", groups: []string{"system:masters"}, purposes: client},
		{name: ControllerManager, issuer: CA, user: "system:kube-controller-manager", purposes: client},
		{name: Scheduler, issuer: CA, user: "system:kube-scheduler", purposes: client},
	}
}

// Ensure makes what is missing in dir and renews what is short-lived. It fails
// when dir can't be written, or when a kept file is damaged.
func Ensure(dir string, now time.Time) (Files, error) {
	f := Files{Dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return f, fmt.Errorf("making the folder of the certificates: %w", err)
	}
	authorities := map[string]authority{}
	for _, name := range []string{CA, FrontProxyCA} {
		a, err := f.ensureAuthority(name, now)
		if err != nil {
			return f, err
		}
		authorities[name] = a
	}
	for _, l := range leaves() {
		if err := f.makeLeaf(l, authorities[l.issuer], now); err != nil {
			return f, err
		}
	}
	return f, f.ensureTokenKey()
}

type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// ensureAuthority loads a certificate authority, or makes it when it isn't
// there or about to expire.
func (f Files) ensureAuthority(name string, now time.Time) (authority, error) {
	a, err := f.loadAuthority(name)
	if err == nil && now.Add(leafLife).Before(a.cert.NotAfter) {
		return a, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return authority{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("making the key %q: %w", name, err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "infrared-dev-" + name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, fmt.Errorf("making the certificate %q: %w", name, err)
	}
	// The key first: a certificate without its key would be found damaged,
	// a key without its certificate is made again.
	if err := f.writePair(name, der, key); err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("reading the certificate %q: %w", name, err)
	}
	return authority{cert: cert, key: key}, nil
}

func (f Files) makeLeaf(l leaf, by authority, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making the key %q: %w", l.name, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(),
		Subject:      pkix.Name{CommonName: l.user, Organization: l.groups},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  l.purposes,
		DNSNames:     l.hosts,
		IPAddresses:  l.ips,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		return fmt.Errorf("making the certificate %q: %w", l.name, err)
	}
	return f.writePair(l.name, der, key)
}

// ensureTokenKey makes the key pair that signs ServiceAccount tokens, once.
func (f Files) ensureTokenKey() error {
	key, err := f.loadKey(ServiceAccounts)
	if errors.Is(err, os.ErrNotExist) {
		fresh, genErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if genErr != nil {
			return fmt.Errorf("making the key %q: %w", ServiceAccounts, genErr)
		}
		key, err = fresh, f.writeKey(ServiceAccounts, fresh)
	}
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding the public key %q: %w", ServiceAccounts, err)
	}
	return writePEM(f.PublicKey(ServiceAccounts), "PUBLIC KEY", der)
}

func serial() *big.Int {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails on the systems Go supports
	}
	return n
}

// pemBlock finds the one block of a file.
func pemBlock(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("the file %s is damaged: no PEM block in it", path)
	}
	return block.Bytes, nil
}
