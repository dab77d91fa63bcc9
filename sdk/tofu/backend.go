// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"darkshift.io/infrared/sdk/provider"
)

// backendFile overrides whatever backend the module names.
const backendFile = "zz_infrared_override.tf.json"

// checkState says what is wrong with where the state is to be.
func checkState(s provider.State) error {
	host, err := url.Parse(s.Host)
	names := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	switch {
	case err != nil || host.Host == "" || host.Scheme != "https" && host.Scheme != "http":
		return provider.Invalidf("state.host", "must be the address of an API server, such as https://10.0.0.1:443")
	case host.Scheme == "http" && !loopback(host.Hostname()):
		return provider.Invalidf("state.host", "is http, over which the token could be read: use https")
	case !names.MatchString(s.Namespace):
		return provider.Invalidf("state.namespace", "is no namespace's name")
	case !names.MatchString(s.Suffix) || len("lock-tfstate-default-"+s.Suffix) > 253:
		return provider.Invalidf("state.suffix", "must be at most 63 lowercase letters, digits and hyphens")
	case regexp.MustCompile(`-[0-9]+$`).MatchString(s.Suffix):
		return provider.Invalidf("state.suffix", "must not end in a hyphen and a number, which Terraform refuses")
	}
	return nil
}

// kubeconfig is the way in to the state. The plan keeps its path only, so that it can be applied with another token.
func kubeconfig(s provider.State) ([]byte, error) {
	cluster := map[string]any{"server": s.Host}
	if len(s.CA) > 0 {
		cluster["certificate-authority-data"] = s.CA // base64 is how JSON writes bytes
	}
	user := map[string]any{}
	if !s.Token.IsZero() {
		user["token"] = s.Token.Reveal()
	}
	// Every JSON document is a YAML document.
	return json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "state",
		"clusters": []any{map[string]any{"name": "state", "cluster": cluster}},
		"users":    []any{map[string]any{"name": "state", "user": user}},
		"contexts": []any{map[string]any{"name": "state", "context": map[string]any{"cluster": "state", "user": "state"}}},
	})
}

// writeBackend puts the backend's configuration into the module's folder.
func (r *run) writeBackend(dir string) error {
	kind, config := "local", map[string]any{"path": literal(r.o.LocalState)}
	if r.o.LocalState == "" {
		kind = "kubernetes"
		config = map[string]any{
			"secret_suffix": r.req.State.Suffix, "namespace": r.req.State.Namespace, "config_path": literal(r.folder.backend),
			"load_config_file": true, "in_cluster_config": false, "insecure": false,
		}
		// Each of these can also come from the environment, where the cloud's credentials are.
		for _, name := range []string{
			"host", "token", "username", "password", "client_certificate", "client_key", "cluster_ca_certificate",
			"config_context", "config_context_auth_info", "config_context_cluster",
		} {
			config[name] = ""
		}
	}
	text, err := json.Marshal(map[string]any{"terraform": map[string]any{"backend": map[string]any{kind: config}}})
	if err != nil {
		return fmt.Errorf("writing the backend's configuration: %w", err)
	}
	return r.folder.write(filepath.Join(dir, backendFile), text)
}

// literal writes a text so that OpenTofu's language takes it as it stands.
func literal(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}
