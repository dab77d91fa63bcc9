// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"darkshift.io/infrared/sdk/kubeconfig"
)

type acceptance struct {
	reason string
	text   string
	want   kubeconfig.Config
}

// acceptances are texts that must be read, and as what.
func acceptances(t testing.TB, f fixture) map[string]acceptance {
	t.Helper()
	base := kubeconfig.Config{
		Server: "https://192.0.2.10:6443", CAData: []byte(f.CAPEM), Token: kubeconfig.NewSecret("S3CR3T.abc"), ContextName: "c",
	}
	but := func(change func(*kubeconfig.Config)) kubeconfig.Config {
		c := base
		change(&c)
		return c
	}
	server := func(text string) kubeconfig.Config {
		return but(func(c *kubeconfig.Config) { c.Server = text })
	}
	plain := k0{}.text(f)
	certificate := but(func(c *kubeconfig.Config) {
		c.Token, c.ClientCertData, c.ClientKeyData = kubeconfig.Secret{}, []byte(f.CertPEM), kubeconfig.NewSecret(f.KeyPEM)
	})
	future := but(func(c *kubeconfig.Config) {
		c.Token, c.ClientCertData, c.ClientKeyData = kubeconfig.Secret{}, plainText(t, f.Future), kubeconfig.NewSecret(string(plainText(t, f.FutureKey)))
	})
	unicode := strings.NewReplacer("name: k,", "name: кластер-東京,", "cluster: k,", "cluster: кластер-東京,", "name: c,", "name: кластер-東京,",
		"current-context: c", "current-context: кластер-東京").Replace(plain)
	return map[string]acceptance{
		"K0":  {"the plainest one", plain, base},
		"CRT": {"a client certificate", k0{User: `{client-certificate-data: "{{CRT}}", client-key-data: "{{KEY}}"}`}.text(f), certificate},
		"FUTURE": {"clocks differ", k0{User: fmt.Sprintf(`{client-certificate-data: "%s", client-key-data: "%s"}`, f.Future, f.FutureKey)}.text(f),
			future},
		"certificate and token": {"both are sent", k0{User: `{client-certificate-data: "{{CRT}}", client-key-data: "{{KEY}}", token: "S3CR3T.abc"}`}.text(f),
			but(func(c *kubeconfig.Config) {
				c.ClientCertData, c.ClientKeyData = []byte(f.CertPEM), kubeconfig.NewSecret(f.KeyPEM)
			})},
		"certificate and no token": {"an empty token is no token", k0{User: `{client-certificate-data: "{{CRT}}", client-key-data: "{{KEY}}", token: ""}`}.text(f),
			certificate},
		"A05/server name": {"kept for Argo CD", k0{Cluster: `{server: "https://192.0.2.10:6443", certificate-authority-data: "{{CA}}", tls-server-name: kubernetes.default.svc}`}.text(f),
			but(func(c *kubeconfig.Config) { c.TLSServerName = "kubernetes.default.svc" })},
		"A05/no CA":  {"the system's roots", k0{Cluster: `{server: "https://192.0.2.10:6443"}`}.text(f), but(func(c *kubeconfig.Config) { c.CAData = nil })},
		"A05/secure": {"false is the default", k0{Cluster: `{server: "https://192.0.2.10:6443", certificate-authority-data: "{{CA}}", insecure-skip-tls-verify: false, proxy-url: "", certificate-authority: null}`}.text(f), base},
		"A07/other exec": {"the unused user is not judged", otherExec(f), but(func(c *kubeconfig.Config) {
			c.Server, c.CAData, c.Token, c.ContextName = "https://two.example.net", nil, kubeconfig.NewSecret("S3CR3T.two"), "d"
		})},
		"A09/BOM, CRLF":  {"from Windows", "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"), base},
		"A09/JSON":       {"kubectl config view -o json", asJSON(t, plain, ""), base},
		"A09/JSON, tabs": {"tabs are blanks in JSON", asJSON(t, plain, "\t"), base},
		"A09/flow YAML": {"braces without quotes", "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: 'https://a.example.net'}}], users: [{name: u, user: {token: S3CR3T}}]}", but(func(c *kubeconfig.Config) {
			c.Server, c.CAData, c.Token = "https://a.example.net", nil, kubeconfig.NewSecret("S3CR3T")
		})},
		"A09/unicode": {"names in any script", unicode, but(func(c *kubeconfig.Config) { c.ContextName = "кластер-東京" })},
		"A09/200 CAs": {"a bundle is kept whole", strings.Replace(plain, f.CA, f.Bundle, 1),
			but(func(c *kubeconfig.Config) { c.CAData = plainText(t, f.Bundle) })},
		"empty documents":  {"--- before and after", "---\n" + plain + "---\n", base},
		"no kind":          {"kubectl does not ask for it", strings.NewReplacer("apiVersion: v1\n", "", "kind: Config\n", "").Replace(plain), base},
		"extensions":       {"minikube's, and preferences", plain + "preferences: {}\nextensions: [{name: x, extension: {deep: [[[1]]]}}]\n", base},
		"number as a name": {"a name that YAML takes for a number", strings.NewReplacer("name: c,", "name: 007,", "current-context: c", "current-context: 007").Replace(plain), but(func(c *kubeconfig.Config) { c.ContextName = "007" })},
		"block token":      {"a block ends with a line break", strings.Replace(plain, `{token: "S3CR3T.abc"}`, `{token: "S3CR3T.abc\n"}`, 1), base},
		"wrapped base64":   {"base64 without -w0", strings.Replace(plain, `"`+f.CA+`"`, "'"+wrap(f.CA)+"'", 1), base},
		"A13/Rancher": {"a path and a colon in the token", k0{Server: "https://rancher.example.net/k8s/clusters/c-m-aaaa1111/", User: `{token: "kubeconfig-u-x:S3CR3T"}`}.text(f), but(func(c *kubeconfig.Config) {
			c.Server, c.Token = "https://rancher.example.net/k8s/clusters/c-m-aaaa1111", kubeconfig.NewSecret("kubeconfig-u-x:S3CR3T")
		})},
		"A14/loopback":      {"the dial policy's business", k0{Server: "https://127.0.0.1:6443"}.text(f), server("https://127.0.0.1:6443")},
		"A15/port 443":      {"kept as written", k0{Server: "https://00000000-aaaa-bbbb-cccc-000000000001.us-ord-1.linodelke.net:443"}.text(f), server("https://00000000-aaaa-bbbb-cccc-000000000001.us-ord-1.linodelke.net:443")},
		"A15/namespace":     {"LKE's context", k0{Contexts: `[{name: c, context: {cluster: k, namespace: default, user: u}}]`}.text(f), but(func(c *kubeconfig.Config) { c.Namespace = "default" })},
		"upper case":        {"host kept as written, scheme not", k0{Server: "HTTPS://API.Edge.example.net:6443//"}.text(f), server("https://API.Edge.example.net:6443")},
		"IPv6":              {"brackets", k0{Server: "https://[2001:db8::1]:6443"}.text(f), server("https://[2001:db8::1]:6443")},
		"international":     {"kept as written", k0{Server: "https://bücher.example.net"}.text(f), server("https://bücher.example.net")},
		"dot at the end":    {"a name from the root", k0{Server: "https://edge.example.net."}.text(f), server("https://edge.example.net.")},
		"escape in path":    {"kept as written", k0{Server: "https://edge.example.net/a%20b"}.text(f), server("https://edge.example.net/a%20b")},
		"unknown user keys": {"kubectl ignores them", k0{User: `{token: "S3CR3T.abc", extensions: [], another: {a: b}}`}.text(f), base},
	}
}

func otherExec(f fixture) string {
	return k0{
		Clusters: `[{name: k, cluster: {server: "http://insecure", insecure-skip-tls-verify: true}}, {name: k2, cluster: {server: "https://two.example.net"}}]`,
		Contexts: `[{name: c, context: {cluster: k, user: u}}, {name: d, context: {cluster: k2, user: v}}]`,
		Current:  "current-context: d",
		Users:    `[{name: u, user: {exec: {command: aws}}}, {name: v, user: {token: S3CR3T.two}}]`,
	}.text(f)
}

func asJSON(t testing.TB, text, indent string) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", indent)
	if err != nil {
		t.Fatal(err)
	}
	// JSON may escape what YAML can't.
	return strings.ReplaceAll(string(out), "https://", `https:\/\/`)
}

func wrap(text string) string {
	return strings.Join(regexp.MustCompile(`.{1,64}`).FindAllString(text, -1), "\n    ")
}

func plainText(t testing.TB, text string) []byte {
	t.Helper()
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
