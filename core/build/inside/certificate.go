// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"crypto/tls"
	"fmt"

	"k8s.io/client-go/util/cert"
)

// newCertificate makes the proxy's certificate, for 127.0.0.1 and this run alone, and the PEM by which OpenTofu knows it. Loopback needs no
// encryption, but Kubernetes' clients send the token of a kubeconfig over TLS only.
func newCertificate() (tls.Certificate, []byte, error) {
	authority, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making a certificate for the proxy of OpenTofu's backend: %w", err)
	}
	certificate, err := tls.X509KeyPair(authority, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("reading the certificate of the proxy of OpenTofu's backend: %w", err)
	}
	return certificate, authority, nil
}
