// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net"
	"time"

	"google.golang.org/grpc"

	pb "darkshift.io/infrared/sdk/protocol/v1"
)

// stranger serves with one certificate and puts another one into the handshake.
func stranger(path string) {
	served, _ := newCertificate()
	_, told := newCertificate()
	listener, err := net.Listen("unix", path)
	if err != nil {
		fail(err)
	}
	server := grpc.NewServer()
	pb.RegisterProviderServiceServer(server, &service{})
	go func() {
		fail(server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{served}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13})))
	}()
	handshake(path, told)
	wait()
}

// newCertificate returns a certificate with its key, and as a handshake has it.
func newCertificate() (tls.Certificate, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		fail(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		fail(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, base64.RawStdEncoding.EncodeToString(der)
}
