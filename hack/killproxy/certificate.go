// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"crypto/tls"
	"fmt"

	"k8s.io/client-go/util/cert"
)

// servingCertificate makes a self-signed certificate for 127.0.0.1 and localhost, and its PEM text for clients to trust.
func servingCertificate() (tls.Certificate, []byte, error) {
	text, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, []string{"localhost"})
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("making a certificate: %w", err)
	}
	certificate, err := tls.X509KeyPair(text, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("reading the certificate just made: %w", err)
	}
	return certificate, text, nil
}
