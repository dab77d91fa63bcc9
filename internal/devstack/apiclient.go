// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"darkshift.io/infrared/internal/devstack/pki"
)

// apiClient speaks JSON with one API server as its administrator.
type apiClient struct {
	base string
	http *http.Client
}

// newAPIClient reads the administrator's certificate from the control plane's
// own files.
func newAPIClient(base string, files pki.Files, ca []byte) (*apiClient, error) {
	cert, err := tls.LoadX509KeyPair(files.Cert(pki.Admin), files.Key(pki.Admin))
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("the file %s is damaged: no certificate in it", files.Cert(pki.CA))
	}
	return &apiClient{base: base, http: &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true,
		},
	}}, nil
}

// statusError is an answer of the API server other than 2xx.
type statusError struct {
	Code    int
	Message string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the API server answered %d: %s", e.Code, e.Message)
}

// call sends one request and decodes the answer into out, when out is given. A
// PATCH is a server-side apply. An answer other than 2xx is a *statusError.
func (c *apiClient) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/apply-patch+yaml") // of which JSON is a part
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return &statusError{Code: resp.StatusCode, Message: messageOf(data)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("decoding the answer: %w", err)
	}
	return nil
}

// messageOf takes the message out of a Status object; other answers, such as
// those of /readyz, are text.
func messageOf(data []byte) string {
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &status) == nil && status.Message != "" {
		return status.Message
	}
	return string(bytes.TrimSpace(data))
}
