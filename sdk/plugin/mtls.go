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
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// clientCertEnv is the variable in which go-plugin's server looks for the only client certificate that it lets in. It
// answers with its own in the handshake.
const clientCertEnv = "PLUGIN_CLIENT_CERT"

// newClientIdentity makes a certificate for one launch: PEM for the plugin, and the client's side of TLS, to which go-plugin adds
// the plugin's certificate as the only root. go-plugin's own way to the same end, AutoMTLS, takes P-521 keys, with which Go
// needs ten times as long as all the rest of a launch.
func newClientIdentity() (certPEM string, config *tls.Config, err error) {
	certificate, err := selfSigned(x509.ExtKeyUsageClientAuth)
	if err != nil {
		return "", nil, err
	}
	certPEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}))
	return certPEM, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ServerName:   localhost,
		MinVersion:   tls.VersionTLS13,
		// Both ends are on one machine, and the connection is as old as the key: there is nothing to keep from a later computer.
		CurvePreferences: []tls.CurveID{tls.X25519},
	}, nil
}

// serverIdentity is the plugin's side of TLS for the one client whose certificate, as PEM, its host passed on, and the
// certificate as a handshake has it. No certificate: the host wants no TLS, and there is none.
func serverIdentity(clientPEM string) (forHandshake string, config *tls.Config, err error) {
	if clientPEM == "" {
		return "", nil, nil
	}
	client := x509.NewCertPool()
	if !client.AppendCertsFromPEM([]byte(clientPEM)) {
		return "", nil, fmt.Errorf("%s holds no certificate", clientCertEnv)
	}
	certificate, err := selfSigned(x509.ExtKeyUsageServerAuth)
	if err != nil {
		return "", nil, err
	}
	return base64.RawStdEncoding.EncodeToString(certificate.Certificate[0]), &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    client,
		MinVersion:   tls.VersionTLS12,
	}, nil
}

// localhost is the name that go-plugin's clients expect of every server.
const localhost = "localhost"

// selfSigned makes a certificate that is its own authority: the other side takes it for its only root.
func selfSigned(usage x509.ExtKeyUsage) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: localhost},
		DNSNames:              []string{localhost},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{usage},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("signing a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
