// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"darkshift.io/infrared/internal/devstack/folder"
)

// loadAuthority reads a pair back. The error wraps os.ErrNotExist when one
// half is missing.
func (f Files) loadAuthority(name string) (authority, error) {
	der, err := pemBlock(f.Cert(name))
	if err != nil {
		return authority{}, fmt.Errorf("reading the certificate %q: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, fmt.Errorf("the file %s is damaged: %w", f.Cert(name), err)
	}
	key, err := f.loadKey(name)
	if err != nil {
		return authority{}, err
	}
	if pub, ok := key.Public().(*ecdsa.PublicKey); !ok || !pub.Equal(cert.PublicKey) {
		return authority{}, fmt.Errorf("the files %s and %s don't belong together", f.Cert(name), f.Key(name))
	}
	return authority{cert: cert, key: key}, nil
}

func (f Files) loadKey(name string) (crypto.Signer, error) {
	der, err := pemBlock(f.Key(name))
	if err != nil {
		return nil, fmt.Errorf("reading the key %q: %w", name, err)
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		// Not wrapped: what a parser says about a private key is nobody's to read.
		return nil, fmt.Errorf("the file %s is damaged: no EC private key in it", f.Key(name))
	}
	return key, nil
}

func (f Files) writePair(name string, certDER []byte, key *ecdsa.PrivateKey) error {
	if err := f.writeKey(name, key); err != nil {
		return err
	}
	return writePEM(f.Cert(name), "CERTIFICATE", certDER)
}

func (f Files) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding the key %q: %w", name, err)
	}
	return writePEM(f.Key(name), "EC PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return folder.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
