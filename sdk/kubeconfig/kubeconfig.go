// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig reads, judges and writes kubeconfigs.
//
// A kubeconfig is a stranger's file: kubectl's own loader runs the programs it names, opens the files it names and goes
// through the proxies it names. So nothing here hands the bytes to that loader. [Read] walks the text, picks the current
// context, copies a short list of fields into a [Config] of ours and refuses the rest, naming the field and the way out
// in an [*Error]. What it returns can be stored and used anywhere: one API server, one CA, and a bearer token or a client
// certificate, all of them inline.
//
// Only the chosen context's cluster and user are judged; whatever else the file holds is never looked at, except that no
// YAML alias and no key twice may stand anywhere in it.
//
// [Write] is the way back, [ServerKey] tells whether two addresses are one API server, and [TokenSubject] says whose a
// ServiceAccount token is.
package kubeconfig

import "time"

// MaxSize is how large a kubeconfig may be, in bytes: 512 KiB. It leaves room beside it in a Secret, which holds 1 MiB.
const MaxSize = 512 << 10

// Config is one way into one cluster: what is left of a kubeconfig after it was judged.
type Config struct {
	// Server is the API server's address as it was written, without slashes at its end: https, a host, perhaps a port,
	// perhaps a path (Rancher). ServerKey makes it comparable.
	Server string
	// TLSServerName is the name that the server's certificate must carry and that is sent as SNI, where it is not the
	// host of Server. Empty: the host.
	TLSServerName string
	// CAData is PEM with one or more certificates that may have signed the server's. Empty: the system's roots.
	CAData []byte
	// Token is the bearer token. Empty where there is a client certificate.
	Token Secret
	// ClientCertData is PEM with the client certificate and perhaps its chain; never a key.
	ClientCertData []byte
	// ClientKeyData is PEM with the key of ClientCertData, not encrypted.
	ClientKeyData Secret
	// ContextName is the name of the context that was chosen.
	ContextName string
	// Namespace is the context's namespace; empty where it names none.
	Namespace string
}

// Read judges the text of a kubeconfig (YAML or JSON) and returns what its current context says. Every refusal is an
// [*Error]. Nothing is dialled, run or opened, and data is not kept.
func Read(data []byte) (*Config, error) {
	return Reader{}.Read(data)
}

// Reader is Read with a clock of one's own.
type Reader struct {
	// Now is the time against which a client certificate's end is judged; nil is time.Now.
	Now func() time.Time
}

// Read is the function of the same name, with the reader's clock.
func (r Reader) Read(data []byte) (*Config, error) {
	text, err := checkText(data)
	if err != nil {
		return nil, err
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(root)
	if err != nil {
		return nil, err
	}

	c := &Config{ContextName: chosen.name, Namespace: chosen.namespace}
	if err := readCluster(chosen.cluster, c); err != nil {
		return nil, err
	}
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	if err := readUser(chosen.user, c, now()); err != nil {
		return nil, err
	}
	return c, nil
}
