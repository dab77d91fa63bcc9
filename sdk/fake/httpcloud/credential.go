// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud

import (
	"net/http"
	"os"
	"time"

	"darkshift.io/infrared/sdk/kubeconfig"
)

// accessTime is how long the cloud stands for a way in that it has given.
const accessTime = 15 * time.Minute

// Credential is an administrator's way into a cluster. It prints in clear: show it to nobody.
type Credential struct {
	Server string `json:"server"`
	CA     []byte `json:"ca"`
	// Token, or ClientCertificate and ClientKey in PEM.
	Token             string `json:"token,omitempty"`
	ClientCertificate []byte `json:"clientCertificate,omitempty"`
	ClientKey         []byte `json:"clientKey,omitempty"`
	// Expiry is until when it may be used.
	Expiry time.Time `json:"expiry"`
}

// credential lets somebody into a cluster. It is no write: nothing in the cloud changes.
func (c *Cloud) credential(in call) *Error {
	c.mu.Lock()
	seen, failed := c.seen(KindCluster, in.r.PathValue("name"), "")
	c.mu.Unlock()
	if failed != nil {
		return failed
	}
	if seen.State == StateDeleting {
		return failure(CodeInUse, "%s is currently being deleted: nobody is let in any more", seen.ID)
	}
	config, failed := c.controlPlane(seen)
	if failed != nil {
		return failed
	}
	answer(in.w, http.StatusOK, Credential{
		Server: config.Server, CA: config.CAData, Token: config.Token.Reveal(), ClientCertificate: config.ClientCertData,
		ClientKey: []byte(config.ClientKeyData.Reveal()), Expiry: c.options.Now().Add(accessTime).UTC().Truncate(time.Second),
	})
	return nil
}

// controlPlane is the way into what is behind a cluster. Its file is read each time: the control plane may have moved.
func (c *Cloud) controlPlane(t Thing) (*kubeconfig.Config, *Error) {
	name := t.Properties[PropertyControlPlane]
	path := c.options.Kubeconfigs[name]
	if path == "" {
		return nil, failure(CodeUnavailable, "the control plane %q of %s is not there", name, t.ID)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		var config *kubeconfig.Config
		if config, err = kubeconfig.Read(text); err == nil {
			return config, nil
		}
	}
	return nil, failure(CodeUnavailable, "the control plane %q of %s can't be reached: its kubeconfig can't be read", name, t.ID)
}

// addEndpoint says where a cluster is, if that is known just now.
func (c *Cloud) addEndpoint(t *Thing) {
	if t.Kind != KindCluster {
		return
	}
	if config, failed := c.controlPlane(*t); failed == nil {
		t.Endpoint, t.CA = config.Server, string(config.CAData)
	}
}

var _ http.Handler = (*Cloud)(nil)
