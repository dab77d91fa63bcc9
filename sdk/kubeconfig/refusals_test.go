// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"unicode/utf16"

	"darkshift.io/infrared/sdk/kubeconfig"
)

type refusal struct {
	reason string
	text   string
	field  string
	why    kubeconfig.Reason
	match  string
}

// refusals are texts that must be refused. The names begin with the field case they are of.
func refusals(f fixture) map[string]refusal {
	all := map[string]refusal{}
	for _, part := range []map[string]refusal{userRefusals(f), clusterRefusals(f), contextRefusals(f), textRefusals(f), serverRefusals(f)} {
		maps.Copy(all, part)
	}
	return all
}

func userRefusals(f fixture) map[string]refusal {
	user := func(u string) string { return k0{User: u}.text(f) }
	exec := func(body string) string {
		return user("{exec: {apiVersion: client.authentication.k8s.io/" + body + "}}")
	}
	cert := func(cert, key string) string {
		return user(fmt.Sprintf(`{client-certificate-data: "%s", client-key-data: "%s"}`, cert, key))
	}
	const u, certField, keyField = "users[u].user", "users[u].user.client-certificate-data", "users[u].user.client-key-data"
	return map[string]refusal{
		"A01/aws": {"Argo CD has no aws program", exec(`v1beta1, command: aws, args: [--region, us-east-1, eks, get-token, --cluster-name, edge]`),
			u + ".exec", kubeconfig.ReasonExec, `exec.*ServiceAccount token or a client certificate`},
		"A01/gke": {"an install hint changes nothing", exec(`v1beta1, command: gke-gcloud-auth-plugin, provideClusterInfo: true, installHint: x`),
			u + ".exec", kubeconfig.ReasonExec, `kubectl -n kube-system create token`},
		"A01/kubelogin": {"v1 is the same as v1beta1", exec(`v1, command: kubelogin, args: [get-token, --login, spn], interactiveMode: Never`),
			u + ".exec", kubeconfig.ReasonExec, `exec`},
		"A01/iam": {"v1alpha1 is gone but still found", exec(`v1alpha1, command: aws-iam-authenticator, args: [token, -i, edge]`),
			u + ".exec", kubeconfig.ReasonExec, `exec`},
		"A01/empty":      {"an empty exec is an exec to kubectl", user(`{exec: {}, token: "S3CR3T"}`), u + ".exec", kubeconfig.ReasonExec, `exec`},
		"A01/with token": {"the token beside exec is what it printed last", user(`{token: "S3CR3T", exec: {command: aws}}`), u + ".exec", kubeconfig.ReasonExec, `exec`},
		"A02/gcp": {"the live token inside is not lifted out", user(`{auth-provider: {name: gcp, config: {access-token: S3CR3T-ya29, cmd-path: gcloud}}}`),
			u + ".auth-provider", kubeconfig.ReasonAuthProvider, `auth-?provider`},
		"A02/oidc":  {"same for OIDC", user(`{auth-provider: {name: oidc, config: {id-token: S3CR3T-jwt}}}`), u + ".auth-provider", kubeconfig.ReasonAuthProvider, `auth-?provider`},
		"A02/basic": {"basic auth is gone from Kubernetes", user(`{username: admin, password: S3CR3T}`), u + ".username", kubeconfig.ReasonBasicAuth, `token|certificate`},
		"A02/password only": {"half of basic auth is no credential either", user(`{password: S3CR3T, token: S3CR3T}`),
			u + ".password", kubeconfig.ReasonBasicAuth, `token|certificate`},
		"A04/paths": {"files of another machine", user(`{client-certificate: 1/client.crt, client-key: 1/client.key}`),
			u + ".client-certificate", kubeconfig.ReasonFile, `inline.*client-certificate-data`},
		"A04/key path": {"a key file beside an inline certificate", user(`{client-certificate-data: "{{CRT}}", client-key: 1/client.key}`),
			u + ".client-key", kubeconfig.ReasonFile, `inline.*client-key-data`},
		"token file":      {"a file of another machine", user(`{tokenFile: /var/run/token}`), u + ".tokenFile", kubeconfig.ReasonFile, `inline`},
		"token file too":  {"kubectl would prefer the file", user(`{token: S3CR3T, tokenFile: /var/run/token}`), u + ".tokenFile", kubeconfig.ReasonFile, `inline`},
		"as":              {"Argo CD can't impersonate from a cluster Secret of ours", user(`{token: S3CR3T, as: root}`), u + ".as", kubeconfig.ReasonImpersonation, `somebody else`},
		"as-groups":       {"same", user(`{token: S3CR3T, as-groups: ["system:masters"]}`), u + ".as-groups", kubeconfig.ReasonImpersonation, `somebody else`},
		"as-uid":          {"same", user(`{token: S3CR3T, as-uid: "1"}`), u + ".as-uid", kubeconfig.ReasonImpersonation, `somebody else`},
		"as-user-extra":   {"same", user(`{token: S3CR3T, as-user-extra: {a: [b]}}`), u + ".as-user-extra", kubeconfig.ReasonImpersonation, `somebody else`},
		"A11/pkcs8":       {"nobody could type the passphrase", cert(f.Cert, f.KeyP8), keyField, kubeconfig.ReasonKeyEncrypted, `encrypted.*passphrase`},
		"A11/traditional": {"same for the old format", cert(f.Cert, f.KeyOld), keyField, kubeconfig.ReasonKeyEncrypted, `encrypted.*passphrase`},
		"A11/no key":      {"half a pair", user(`{client-certificate-data: "{{CRT}}"}`), keyField, kubeconfig.ReasonKey, `missing`},
		"A11/other key":   {"a key of another pair", cert(f.Cert, f.OtherKey), keyField, kubeconfig.ReasonKeyMismatch, `match`},
		"A11/other kind":  {"an RSA key for an ECDSA certificate", cert(f.Cert, f.RSAKey), keyField, kubeconfig.ReasonKeyMismatch, `match`},
		"A11/certificate": {"a certificate where the key belongs", cert(f.Cert, f.Cert), keyField, kubeconfig.ReasonKey, `certificate where the key`},
		"A11/swapped":     {"the key must not be stored as a certificate", cert(f.Key, f.Cert), certField, kubeconfig.ReasonCertificate, `private key`},
		"key alone":       {"half a pair", user(`{client-key-data: "{{KEY}}"}`), certField, kubeconfig.ReasonCertificate, `missing`},
		"expired":         {"the day is said", cert(f.Expired, f.ExpiredKey), certField, kubeconfig.ReasonExpired, `expired at 2025-03-04T05:06:07Z`},
		"key garbage":     {"PEM with nothing in it", cert(f.Cert, b64("-----BEGIN PRIVATE KEY-----\nUzNDUjNU\n-----END PRIVATE KEY-----\n")), keyField, kubeconfig.ReasonKey, `can't be read`},
		"key SSH":         {"a wrong kind of key", cert(f.Cert, b64("-----BEGIN OPENSSH PRIVATE KEY-----\nUzNDUjNU\n-----END OPENSSH PRIVATE KEY-----\n")), keyField, kubeconfig.ReasonKey, `can't be read|SSH`},
		"key not base64":  {"raw PEM", user(`{client-certificate-data: "{{CRT}}", client-key-data: "-----BEGIN PRIVATE KEY-----"}`), keyField, kubeconfig.ReasonKey, `base64`},
		"cert twice":      {"base64 twice", cert(b64(f.Cert), f.Key), certField, kubeconfig.ReasonCertificate, `once`},
		"no credential":   {"kubectl would be anonymous", user(`{}`), u, kubeconfig.ReasonNoCredential, `create token`},
		"null user":       {"same", user(`null`), u, kubeconfig.ReasonNoCredential, `create token`},
		"empty token":     {"an empty header authenticates nobody", user(`{token: ""}`), u + ".token", kubeconfig.ReasonNoCredential, `empty`},
		"blank token":     {"same", user(`{token: "  "}`), u + ".token", kubeconfig.ReasonNoCredential, `empty`},
		"two tokens":      {"two things pasted as one", user(`{token: "Bearer S3CR3T"}`), u + ".token", kubeconfig.ReasonToken, `blank`},
		"header in token": {"a line break would begin another header", user(`{token: "S3CR3T\r\nX-Other: y"}`), u + ".token", kubeconfig.ReasonToken, `blank`},
		"token map":       {"another shape", user(`{token: {a: S3CR3T}}`), u + ".token", kubeconfig.ReasonFieldMalformed, `text`},
		"user list":       {"another shape", user(`[S3CR3T]`), u, kubeconfig.ReasonFieldMalformed, `map`},
	}
}

func clusterRefusals(f fixture) map[string]refusal {
	with := func(more string) string {
		return k0{Cluster: `{server: "https://192.0.2.10:6443", certificate-authority-data: "{{CA}}", ` + more + `}`}.text(f)
	}
	ca := func(data string) string {
		return k0{Cluster: `{server: "https://192.0.2.10:6443", certificate-authority-data: "` + data + `"}`}.text(f)
	}
	const k, caField = "clusters[k].cluster", "clusters[k].cluster.certificate-authority-data"
	return map[string]refusal{
		"A04/ca path": {"a file that exists here too", k0{Cluster: `{server: "https://192.0.2.10:6443", certificate-authority: /etc/ssl/certs/ca-certificates.crt}`}.text(f),
			k + ".certificate-authority", kubeconfig.ReasonFile, `inline, in certificate-authority-data`},
		"A05/insecure with CA": {"Argo CD refuses both together for ever", with(`insecure-skip-tls-verify: true`),
			k + ".insecure-skip-tls-verify", kubeconfig.ReasonInsecure, `certificate`},
		"A05/insecure": {"nothing would be checked", k0{Cluster: `{server: "https://192.0.2.10:6443", insecure-skip-tls-verify: true}`}.text(f),
			k + ".insecure-skip-tls-verify", kubeconfig.ReasonInsecure, `certificate`},
		"A05/insecure as text": {"a text that means true", with(`insecure-skip-tls-verify: "true"`), k + ".insecure-skip-tls-verify", kubeconfig.ReasonInsecure, `certificate`},
		"A06/http proxy":       {"Argo CD would dial another way", with(`proxy-url: "http://192.0.2.7:3128"`), k + ".proxy-url", kubeconfig.ReasonProxy, `proxy`},
		"A06/socks proxy":      {"same", with(`proxy-url: "socks5://192.0.2.7:1080"`), k + ".proxy-url", kubeconfig.ReasonProxy, `proxy`},
		"server name":          {"no certificate can carry it", with(`tls-server-name: "a b"`), k + ".tls-server-name", kubeconfig.ReasonFieldMalformed, `host name`},
		"CA with a key":        {"a CA is shown to many; a key must not be in it", ca(b64(f.CAPEM + f.KeyPEM)), caField, kubeconfig.ReasonCA, `private key`},
		"CA is a key":          {"same", ca(f.Key), caField, kubeconfig.ReasonCA, `private key`},
		"CA text":              {"no PEM", ca(b64("hello")), caField, kubeconfig.ReasonCA, `PEM`},
		"CA not base64":        {"no base64", ca("%%%"), caField, kubeconfig.ReasonCA, `base64`},
		"CA request":           {"something else in PEM", ca(b64("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n")), caField, kubeconfig.ReasonCA, `certificates`},
		"CA broken":            {"a certificate that can't be read", ca(b64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")), caField, kubeconfig.ReasonCA, `no certificate`},
	}
}

func contextRefusals(f fixture) map[string]refusal {
	two := `[{name: c, context: {cluster: k, user: u}}, {name: d, context: {cluster: k, user: u}}]`
	return map[string]refusal{
		"A07/typo":         {"never fall back", k0{Current: "current-context: typo"}.text(f), "current-context", kubeconfig.ReasonContext, `typo`},
		"A07/none of two":  {"it is open which", k0{Current: "# none", Contexts: two}.text(f), "current-context", kubeconfig.ReasonContext, `use-context`},
		"A07/none of one":  {"what a file means must not change when a context is added", k0{Current: "# none"}.text(f), "current-context", kubeconfig.ReasonContext, `use-context`},
		"A07/two users":    {"which token?", k0{Users: `[{name: u, user: {token: S3CR3T-one}}, {name: u, user: {token: S3CR3T-two}}]`}.text(f), "users[u]", kubeconfig.ReasonDuplicate, `twice`},
		"A07/empty":        {"an empty name is no name", k0{Current: `current-context: ""`, Contexts: `[{name: "", context: {cluster: k, user: u}}]`}.text(f), "current-context", kubeconfig.ReasonContext, `use-context`},
		"two contexts":     {"which one?", k0{Contexts: `[{name: c, context: {cluster: k, user: u}}, {name: c, context: {cluster: k, user: v}}]`}.text(f), "contexts[c]", kubeconfig.ReasonDuplicate, `twice`},
		"two clusters":     {"which one?", k0{Clusters: `[{name: k, cluster: {server: "https://a"}}, {name: k, cluster: {server: "https://b"}}]`}.text(f), "clusters[k]", kubeconfig.ReasonDuplicate, `twice`},
		"no such user":     {"kubectl would be anonymous", k0{Contexts: `[{name: c, context: {cluster: k, user: nobody}}]`}.text(f), "contexts[c].context.user", kubeconfig.ReasonMissing, `nobody`},
		"no such cluster":  {"kubectl would dial localhost:8080", k0{Contexts: `[{name: c, context: {cluster: nowhere, user: u}}]`}.text(f), "contexts[c].context.cluster", kubeconfig.ReasonMissing, `nowhere`},
		"no user named":    {"anonymous too", k0{Contexts: `[{name: c, context: {cluster: k}}]`}.text(f), "contexts[c].context.user", kubeconfig.ReasonMissing, `not set`},
		"no contexts":      {"nothing to choose from", "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: []\n", "current-context", kubeconfig.ReasonContext, `not among`},
		"contexts a map":   {"another shape", k0{Contexts: `{name: c}`}.text(f), "contexts", kubeconfig.ReasonFieldMalformed, `list`},
		"bad namespace":    {"a name no namespace has", k0{Contexts: `[{name: c, context: {cluster: k, user: u, namespace: "A/B"}}]`}.text(f), "contexts[c].context.namespace", kubeconfig.ReasonFieldMalformed, `namespace`},
		"unprintable name": {"it could not be shown", k0{Current: `current-context: "a\u0007b"`}.text(f), "current-context", kubeconfig.ReasonFieldMalformed, `shown`},
	}
}

func textRefusals(f fixture) map[string]refusal {
	plain := k0{}.text(f)
	utf16le := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(plain)) {
		utf16le = append(utf16le, byte(unit), byte(unit>>8))
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {kubeconfig: " + b64(plain) + "}\n"
	return map[string]refusal{
		"A09/documents": {"which one?", plain + "---\n" + plain, "", kubeconfig.ReasonSyntax, `document`},
		"A09/base64":    {"the whole file in base64", b64(plain), "", kubeconfig.ReasonEncoding, `base64`},
		"A09/wrapped base64": {"with line breaks", strings.Join(regexp.MustCompile(`.{1,76}`).FindAllString(b64(plain), -1), "\n") + "\n",
			"", kubeconfig.ReasonEncoding, `base64`},
		"A09/utf16":        {"Notepad's Unicode", string(utf16le), "", kubeconfig.ReasonEncoding, `UTF-16`},
		"A09/utf16 bare":   {"without a mark there are NULs", string(utf16le[2:]), "", kubeconfig.ReasonEncoding, `NUL`},
		"A09/latin1":       {"not UTF-8", plain + "# caf\xe9\n", "", kubeconfig.ReasonEncoding, `UTF-8`},
		"A09/tabs":         {"YAML has no tabs", "apiVersion: v1\nkind: Config\nclusters:\n\t- name: k\n", "", kubeconfig.ReasonSyntax, `tab`},
		"A09/Secret":       {"a manifest", secret, "kind", kubeconfig.ReasonNotKubeconfig, `Secret`},
		"A09/large":        {"a Secret holds 1 MiB", strings.Replace(plain, f.CA, strings.Repeat("QUFB", 1_300_000/4), 1), "", kubeconfig.ReasonTooLarge, `too large`},
		"another version":  {"not one we know", strings.Replace(plain, "apiVersion: v1", "apiVersion: v2", 1), "apiVersion", kubeconfig.ReasonNotKubeconfig, `v1`},
		"empty":            {"nothing", " \n", "", kubeconfig.ReasonNotKubeconfig, `empty`},
		"comment":          {"nothing but a comment", "# S3CR3T\n", "", kubeconfig.ReasonNotKubeconfig, `empty`},
		"word":             {"a token pasted alone", "S3CR3T", "", kubeconfig.ReasonNotKubeconfig, `no kubeconfig`},
		"list":             {"another shape", "[S3CR3T]", "", kubeconfig.ReasonNotKubeconfig, `no kubeconfig`},
		"other map":        {"another file", "S3CR3T: S3CR3T", "", kubeconfig.ReasonNotKubeconfig, `no kubeconfig`},
		"broken":           {"a bracket open", plain + "x: [S3CR3T\n", "", kubeconfig.ReasonSyntax, `line \d+ is not YAML`},
		"alias":            {"two readers could see two things", k0{User: `{token: &t S3CR3T}`, Rest: "x: *t"}.text(f), "", kubeconfig.ReasonSyntax, `anchors`},
		"unknown alias":    {"its name may be the secret", k0{User: `{token: *S3CR3T}`}.text(f), "", kubeconfig.ReasonSyntax, `anchors`},
		"merge key":        {"fields from elsewhere", k0{User: `{<<: {token: S3CR3T}}`}.text(f), "", kubeconfig.ReasonSyntax, `key`},
		"tag":              {"!!binary is another text to kubectl", k0{User: `{token: !!binary UzNDUjNU}`}.text(f), "", kubeconfig.ReasonSyntax, `tags`},
		"key twice":        {"which token?", k0{User: `{token: S3CR3T, token: other}`}.text(f), "", kubeconfig.ReasonDuplicate, `key token is there twice`},
		"secret key twice": {"the key itself is not shown", k0{User: `{S3CR3T: a, S3CR3T: b, token: x}`}.text(f), "", kubeconfig.ReasonDuplicate, `a key is there twice`},
		"JSON key twice":   {"same in JSON", `{"kind":"Config","kind":"Config","clusters":[]}`, "", kubeconfig.ReasonDuplicate, `key kind`},
		"list as key":      {"YAML allows it", plain + "? [a]\n: b\n", "", kubeconfig.ReasonSyntax, `key`},
		"deep":             {"brackets in brackets", plain + "x: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n", "", kubeconfig.ReasonSyntax, `deep`},
	}
}

func serverRefusals(f fixture) map[string]refusal {
	rows := map[string]struct{ reason, server, match string }{
		"A14/http":        {"the token would go in clear", "http://edge.example.net:8080", `https`},
		"A14/no scheme":   {"client-go would take http", "edge.example.net:6443", `https`},
		"A14/no colon":    {"a typo", "https//edge.example.net", `https`},
		"A14/IPv6":        {"brackets missing", "https://2001:db8::1:6443", `square brackets`},
		"A14/user":        {"a password in an address", "https://user:S3CR3T@edge.example.net", `user`},
		"user only":       {"same", "https://S3CR3T@edge.example.net", `user`},
		"query":           {"an API server has none", "https://edge.example.net/?token=S3CR3T", `query`},
		"bare question":   {"same, though empty", "https://edge.example.net?", `query`},
		"fragment":        {"an API server has none", "https://edge.example.net/#S3CR3T", `fragment`},
		"no host":         {"nothing to dial", "https://:6443", `host`},
		"only scheme":     {"nothing to dial", "https://", `host`},
		"port":            {"no such port", "https://edge.example.net:70000", `port`},
		"port zero":       {"no such port", "https://edge.example.net:0", `port`},
		"port empty":      {"a colon too many", "https://edge.example.net:", `port`},
		"port word":       {"a word", "https://edge.example.net:https", `port`},
		"brackets":        {"a name in brackets", "https://[edge.example.net]:6443", `IPv6`},
		"zone":            {"a zone is only known on one machine", "https://[fe80::1%25eth0]:6443", `IPv6`},
		"after bracket":   {"text after the bracket", "https://[2001:db8::1]x:6443", `port`},
		"backslash":       {"browsers and Go disagree", `https://edge.example.net\@evil.example.net`, `character`},
		"space":           {"no host has one", "https://edge example.net", `character`},
		"line break":      {"no host has one", "https://edge.example.net\n", `character`},
		"dots":            {"no host has two dots in a row", "https://edge..example.net", `host name`},
		"percent":         {"no host has one", "https://edge%2eexample.net", `host name`},
		"parent path":     {"two spellings of one server", "https://edge.example.net/a/../b", `path`},
		"encoded parent":  {"same", "https://edge.example.net/a/%2e%2e/b", `path`},
		"double slash":    {"same", "https://edge.example.net/a//b", `path`},
		"bad escape":      {"no such escape", "https://edge.example.net/%zz", `address`},
		"international":   {"not a name", "https://-\u202e.example.net", `character|host name`},
		"dash at the end": {"not a name", "https://edge-", `host name`},
	}
	out := map[string]refusal{
		"A14/empty":   {"kubectl would dial localhost:8080", k0{Cluster: `{server: "", certificate-authority-data: "{{CA}}"}`}.text(f), "clusters[k].cluster.server", kubeconfig.ReasonServer, `not set`},
		"no server":   {"same", k0{Cluster: `{certificate-authority-data: "{{CA}}"}`}.text(f), "clusters[k].cluster.server", kubeconfig.ReasonServer, `not set`},
		"server list": {"another shape", k0{Cluster: `{server: [a]}`}.text(f), "clusters[k].cluster.server", kubeconfig.ReasonFieldMalformed, `text`},
	}
	for name, row := range rows {
		out[name] = refusal{row.reason, k0{Server: row.server}.text(f), "clusters[k].cluster.server", kubeconfig.ReasonServer, row.match}
	}
	return out
}
