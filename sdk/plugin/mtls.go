// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// clientCertEnv is the variable in which go-plugin's server looks for the only client certificate that it lets in. It
// answers with its own in the handshake.
const clientCertEnv = "PLUGIN_CLIENT_CERT"

// newClientIdentity makes a certificate for one launch: PEM for the plugin, and the client's side of TLS, to which go-plugin adds
// the plugin's certificate as the only root. go-plugin's own way to the same end, AutoMTLS, takes a P-521 key, which Go computes
// with some thirty times slower than with P-256.
func newClientIdentity() (certPEM string, config *tls.Config, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", nil, fmt.Errorf("making a key: %w", err)
	}
	// go-plugin's server takes the certificate for its root too, so it is its own authority.
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "localhost"},
		DNSNames:              []string{"localhost"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", nil, fmt.Errorf("signing a certificate: %w", err)
	}
	certPEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certPEM, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ServerName:   "localhost",
		MinVersion:   tls.VersionTLS13,
		// Both ends are on one machine, and the connection is as old as the key: there is nothing to keep from a later computer.
		CurvePreferences: []tls.CurveID{tls.X25519},
	}, nil
}
