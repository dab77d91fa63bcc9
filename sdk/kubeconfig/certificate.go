// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"
)

// readCertificate judges client certificate and key, which come together or not at all.
func readCertificate(o object, c *Config, now time.Time) error {
	certField, keyField := o.at("client-certificate-data"), o.at("client-key-data")
	certificate, err := pemField(o, "client-certificate-data", ReasonCertificate)
	if err != nil {
		return err
	}
	key, err := pemField(o, "client-key-data", ReasonKey)
	if err != nil {
		return err
	}
	switch {
	case certificate == nil && key == nil:
		return nil
	case key == nil:
		return refuse(keyField, ReasonKey, "is missing; a client certificate needs its key beside it")
	case certificate == nil:
		return refuse(certField, ReasonCertificate, "is missing; a client key needs its certificate beside it")
	}
	if err := checkCertificates(certField, ReasonCertificate, certificate); err != nil {
		return err
	}
	leaf, err := leafOf(certificate)
	if err != nil {
		return refuse(certField, ReasonCertificate, "its first certificate can't be read; give the client certificate first and its chain after it")
	}
	public, refused := publicKey(keyField, key)
	if refused != nil {
		return refused
	}
	if comparable, ok := public.(interface{ Equal(crypto.PublicKey) bool }); !ok || !comparable.Equal(leaf.PublicKey) {
		return refuse(keyField, ReasonKeyMismatch, "does not match the certificate in client-certificate-data; give the key it was made with")
	}
	// One that begins in the future is taken: clocks differ, and the API server has the last word.
	if now.After(leaf.NotAfter) {
		return refuse(certField, ReasonExpired, "the client certificate expired at %s; give a new one, or a ServiceAccount token",
			leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	c.ClientCertData, c.ClientKeyData = certificate, NewSecret(string(key))
	return nil
}

// leafOf reads the first certificate of a chain.
func leafOf(chain []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(chain)
	return x509.ParseCertificate(block.Bytes)
}

// publicKey finds the private key among the blocks of data and returns its public half.
func publicKey(field string, data []byte) (crypto.PublicKey, *Error) {
	certificate := false
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			certificate = true
		}
		// Beside a key there may be its parameters, which say nothing new.
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, refuse(field, ReasonKeyEncrypted,
				"is encrypted with a passphrase, which nobody could type here; decrypt it first, with openssl pkey -in FILE, and give that in base64")
		}
		private := parseKey(block.Bytes)
		if private == nil {
			return nil, refuse(field, ReasonKey, "the key can't be read; give an RSA, ECDSA or Ed25519 key in PEM, in base64")
		}
		return private.Public(), nil
	}
	if certificate {
		return nil, refuse(field, ReasonKey, "holds a certificate where the key belongs; give the key of client-certificate-data")
	}
	return nil, refuse(field, ReasonKey, "holds no private key; give the key of client-certificate-data in PEM, in base64")
}

// parseKey reads a private key in any of the three forms there are; nil where it is none of them.
func parseKey(der []byte) crypto.Signer {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		signer, _ := key.(crypto.Signer)
		return signer
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}

// CertificateExpiry is when the client certificate ends; zero where there is none.
func (c *Config) CertificateExpiry() time.Time {
	if len(c.ClientCertData) == 0 {
		return time.Time{}
	}
	if block, _ := pem.Decode(c.ClientCertData); block == nil {
		return time.Time{}
	}
	leaf, err := leafOf(c.ClientCertData)
	if err != nil {
		return time.Time{}
	}
	return leaf.NotAfter
}
