// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
)

// KubeconfigOptions are the parts of a kubeconfig; the zero value is a good one.
type KubeconfigOptions struct {
	// Server is the address; empty is the server's own. A path can be put behind it with Path.
	Server, Path string
	// CA is PEM; nil is the server's. NoCA leaves it out.
	CA   []byte
	NoCA bool
	// TLSServerName is left out when empty.
	TLSServerName string
	// Token is the user's; empty is the token the server takes now, or S3CR3T.abc where it takes any.
	Token string
	// ClientCert and ClientKey are PEM; with them there is no token unless one is set.
	ClientCert, ClientKey []byte
}

// Kubeconfig is a kubeconfig for the server: cluster k, user u and context c.
func (s *Server) Kubeconfig(o KubeconfigOptions) []byte {
	server := cmp.Or(o.Server, s.URL()) + o.Path
	cluster := []string{fmt.Sprintf("server: %q", server)}
	ca := o.CA
	if ca == nil {
		ca = s.ca.PEM()
	}
	if !o.NoCA {
		cluster = append(cluster, fmt.Sprintf("certificate-authority-data: %q", base64.StdEncoding.EncodeToString(ca)))
	}
	if o.TLSServerName != "" {
		cluster = append(cluster, fmt.Sprintf("tls-server-name: %q", o.TLSServerName))
	}
	token := o.Token
	if token == "" && o.ClientCert == nil {
		token = cmp.Or(s.Behaviour().Token, "S3CR3T.abc")
	}
	var user []string
	if token != "" {
		user = append(user, fmt.Sprintf("token: %q", token))
	}
	if o.ClientCert != nil {
		user = append(user, fmt.Sprintf("client-certificate-data: %q", base64.StdEncoding.EncodeToString(o.ClientCert)),
			fmt.Sprintf("client-key-data: %q", base64.StdEncoding.EncodeToString(o.ClientKey)))
	}
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:  [{name: k, cluster: {%s}}]
contexts:  [{name: c, context: {cluster: k, user: u}}]
current-context: c
users:     [{name: u, user: {%s}}]
`, strings.Join(cluster, ", "), strings.Join(user, ", "))
}
