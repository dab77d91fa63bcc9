// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"bytes"
	"cmp"

	"go.yaml.in/yaml/v3"
)

// defaultName is what Write calls the entries of a Config without a context name.
const defaultName = "infrared"

type (
	file struct {
		APIVersion     string         `yaml:"apiVersion"`
		Kind           string         `yaml:"kind"`
		Clusters       []namedCluster `yaml:"clusters"`
		Contexts       []namedContext `yaml:"contexts"`
		CurrentContext string         `yaml:"current-context"`
		Users          []namedUser    `yaml:"users"`
	}
	namedCluster struct {
		Name    string `yaml:"name"`
		Cluster struct {
			Server        string `yaml:"server"`
			TLSServerName string `yaml:"tls-server-name,omitempty"`
			CAData        string `yaml:"certificate-authority-data,omitempty"`
		} `yaml:"cluster"`
	}
	namedContext struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster   string `yaml:"cluster"`
			User      string `yaml:"user"`
			Namespace string `yaml:"namespace,omitempty"`
		} `yaml:"context"`
	}
	namedUser struct {
		Name string `yaml:"name"`
		User struct {
			Token          string `yaml:"token,omitempty"`
			ClientCertData string `yaml:"client-certificate-data,omitempty"`
			ClientKeyData  string `yaml:"client-key-data,omitempty"`
		} `yaml:"user"`
	}
)

// Write renders a kubeconfig in YAML with everything inline, secrets included: the result belongs into a Secret and
// nowhere else. Reading it gives c again. Cluster, context and user bear the context's name, or "infrared" where c has none.
func Write(c Config) []byte {
	name := cmp.Or(c.ContextName, defaultName)
	f := file{APIVersion: "v1", Kind: "Config", CurrentContext: name}

	cluster := namedCluster{Name: name}
	cluster.Cluster.Server = c.Server
	cluster.Cluster.TLSServerName = c.TLSServerName
	cluster.Cluster.CAData = encodeBase64(c.CAData)
	f.Clusters = []namedCluster{cluster}

	context := namedContext{Name: name}
	context.Context.Cluster, context.Context.User, context.Context.Namespace = name, name, c.Namespace
	f.Contexts = []namedContext{context}

	user := namedUser{Name: name}
	user.User.Token = c.Token.Reveal()
	user.User.ClientCertData = encodeBase64(c.ClientCertData)
	user.User.ClientKeyData = encodeBase64([]byte(c.ClientKeyData.Reveal()))
	f.Users = []namedUser{user}

	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	// These are plain texts written to memory: there is nothing that could fail.
	_ = encoder.Encode(f)
	_ = encoder.Close()
	return out.Bytes()
}
