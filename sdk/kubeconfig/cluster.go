// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"regexp"
	"strings"
)

// flatten is the way out wherever a kubeconfig names files.
const flatten = "kubectl config view --raw --flatten --minify prints the same kubeconfig with everything inline"

// readCluster judges the chosen cluster and copies what is allowed into c.
func readCluster(o object, c *Config) error {
	if err := checkClusterRefused(o); err != nil {
		return err
	}
	server, err := o.text("server")
	if err != nil {
		return err
	}
	if c.Server, err = CheckServer(o.at("server"), server); err != nil {
		return err
	}
	if c.TLSServerName, err = o.text("tls-server-name"); err != nil {
		return err
	}
	if c.TLSServerName != "" && !isTLSName(c.TLSServerName) {
		return refuse(o.at("tls-server-name"), ReasonFieldMalformed, "is not a host name")
	}
	if c.CAData, err = pemField(o, "certificate-authority-data", ReasonCA); err != nil {
		return err
	}
	if len(c.CAData) == 0 {
		return nil
	}
	return checkCertificates(o.at("certificate-authority-data"), ReasonCA, c.CAData)
}

// checkClusterRefused refuses the fields that are never taken over.
func checkClusterRefused(o object) error {
	if o.isSet("insecure-skip-tls-verify") {
		return refuse(o.at("insecure-skip-tls-verify"), ReasonInsecure,
			"the server's certificate would not be checked; remove it and give the cluster's CA in certificate-authority-data")
	}
	if o.isSet("proxy-url") {
		return refuse(o.at("proxy-url"), ReasonProxy,
			"a cluster is reached without a proxy, or Argo CD would take another way than we do; remove it and give a server that is reached directly")
	}
	if o.isSet("certificate-authority") {
		return refuse(o.at("certificate-authority"), ReasonFile,
			"names a file on another machine; put its content inline, in certificate-authority-data: %s", flatten)
	}
	return nil
}

// pemField decodes a -data field: base64 of PEM. Missing is nil.
func pemField(o object, field string, reason Reason) ([]byte, error) {
	text, err := o.text(field)
	if err != nil || text == "" {
		return nil, err
	}
	if strings.Contains(text, "-----BEGIN") {
		return nil, refuse(o.at(field), reason, "is PEM as it stands; it must be base64 of the PEM, from base64 -w0 FILE")
	}
	plain, ok := decodeBase64(text)
	if !ok {
		return nil, refuse(o.at(field), reason, "is not base64; it must be base64 of PEM, from base64 -w0 FILE")
	}
	if !bytes.Contains(plain, []byte("-----BEGIN")) {
		return nil, refuse(o.at(field), reason, "holds no PEM; it must be base64 of PEM, once, from base64 -w0 FILE")
	}
	return plain, nil
}

// checkCertificates makes sure that data is PEM of certificates and of nothing that must stay secret. One certificate that
// can be read is enough: bundles hold odd ones, and Go's TLS passes over those too.
func checkCertificates(field string, reason Reason, data []byte) error {
	if bytes.Contains(data, []byte("PRIVATE KEY")) {
		return refuse(field, reason, "holds a private key; leave only the certificates, and replace that key, since it was given away")
	}
	for rest := data; ; {
		_, after, found := bytes.Cut(rest, []byte("-----BEGIN "))
		if !found {
			break
		}
		if !bytes.HasPrefix(after, []byte("CERTIFICATE-----")) {
			return refuse(field, reason, "holds something else than certificates; leave only blocks that begin with BEGIN CERTIFICATE")
		}
		rest = after
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err == nil {
			return nil
		}
	}
	return refuse(field, reason, "holds no certificate that can be read; it must be base64 of PEM with BEGIN CERTIFICATE")
}

var tlsName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?$`)

// isTLSName says whether name can stand in a certificate: a host name or an IP address.
func isTLSName(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil || tlsName.MatchString(name)
}
