// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// CA is a certificate authority with ECDSA keys. Many servers can share one.
type CA struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// NewCA makes an authority that lasts ten years.
func NewCA() (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a CA's key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "case-ca"},
		NotBefore: now.AddDate(-3, 0, 0), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a CA: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the CA just made: %w", err)
	}
	return &CA{certificate: certificate, key: key, pem: pemOf("CERTIFICATE", der)}, nil
}

// PEM is the authority's certificate.
func (ca *CA) PEM() []byte { return ca.pem }

// ClientCertificate issues a certificate for a client, as PEM with its key, valid from and until these times.
func (ca *CA) ClientCertificate(commonName string, from, until time.Time) (certificate, key []byte, err error) {
	pair, err := ca.issue(leaf{commonName: commonName, from: from, until: until})
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, nil, fmt.Errorf("writing a client's key: %w", err)
	}
	return pemOf("CERTIFICATE", pair.Certificate[0]), pemOf("PRIVATE KEY", der), nil
}

// leaf is what to issue: a server's certificate with hosts, a client's without.
type leaf struct {
	commonName  string
	hosts       []string
	from, until time.Time
}

// issue makes a certificate. A server's has the authority's own key, which saves making one.
func (ca *CA) issue(l leaf) (tls.Certificate, error) {
	key := ca.key
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "test-cluster"}, NotBefore: l.from, NotAfter: l.until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if len(l.hosts) == 0 {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return tls.Certificate{}, fmt.Errorf("making a client's key: %w", err)
		}
		template.Subject = pkix.Name{CommonName: l.commonName, Organization: []string{"system:masters"}}
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	for _, host := range l.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: crypto.PrivateKey(key)}, nil
}

func serial() *big.Int {
	n, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 62))
	return n.Add(n, big.NewInt(1))
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
