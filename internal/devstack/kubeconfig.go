// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// kubeconfig is all that one kubeconfig file says: one cluster, one user, one
// context, everything inline. A user has a token or a certificate.
type kubeconfig struct {
	cluster string // also the context's name
	server  string // https://127.0.0.1:port
	ca      []byte // PEM
	user    string
	token   string
	cert    []byte // PEM
	key     []byte // PEM
}

// render writes the file as YAML. Names are quoted, as a cluster may be called
// 7 or true; Go's quotes are YAML's for what a name may hold.
func (k kubeconfig) render() []byte {
	b64 := base64.StdEncoding.EncodeToString
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Config\nclusters:\n")
	fmt.Fprintf(&b, "- name: %q\n  cluster:\n    server: %s\n    certificate-authority-data: %s\n", k.cluster, k.server, b64(k.ca))
	fmt.Fprintf(&b, "users:\n- name: %q\n  user:\n", k.user)
	if k.token != "" {
		fmt.Fprintf(&b, "    token: %s\n", k.token)
	} else {
		fmt.Fprintf(&b, "    client-certificate-data: %s\n    client-key-data: %s\n", b64(k.cert), b64(k.key))
	}
	fmt.Fprintf(&b, "contexts:\n- name: %q\n  context:\n    cluster: %q\n    user: %q\ncurrent-context: %q\n",
		k.cluster, k.cluster, k.user, k.cluster)
	return []byte(b.String())
}
