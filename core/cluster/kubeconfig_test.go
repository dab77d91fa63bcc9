// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
)

// refusal is a kubeconfig of the field cases that must be refused, and by which words.
type refusal struct {
	reason  string
	text    []byte
	pattern string
}

// refusedKubeconfigs are the cases by which a kubeconfig is refused without a connection, whatever is wrong with it.
func refusedKubeconfigs(t *testing.T) map[string]func(*testing.T, *world) {
	t.Helper()
	// One server for all of them: none may be asked.
	wc := start(t, testcluster.Options{})
	all := map[string]refusal{}
	for _, part := range []map[string]refusal{refusedUsers(t, wc), refusedClusters(wc), refusedContexts(wc), refusedTexts(t, wc), refusedServers(wc)} {
		for name, tc := range part {
			all[name] = tc
		}
	}
	run := map[string]func(*testing.T, *world){}
	for name, tc := range all {
		run[name] = func(t *testing.T, _ *world) {
			cluster := objectName(name)
			create(t, kubeconfigSecret(cluster, tc.text))
			create(t, workload(cluster))
			eventually(t, refusedWith(cluster, tc.pattern),
				has(cluster, "Registered", "False", v1alpha1.ReasonNotConnected),
				absent("argocd", "cluster-"+cluster))
			if n := wc.RequestCount(); n > 0 {
				t.Errorf("%d requests were made by refused kubeconfigs: %s", n, tc.reason)
			}
			for _, never := range []string{"KUBERNETES_MASTER", "cannot unmarshal", "no such file", "No Auth Provider"} {
				if c, err := getCluster(cluster); err != nil || strings.Contains(fmt.Sprint(c.Status.Conditions), never) {
					t.Errorf("%q is a library's text: %v %v", never, c.Status.Conditions, err)
				}
			}
		}
	}
	return run
}

// objectName turns the name of a case into one for a Cluster.
func objectName(name string) string {
	return strings.ToLower(strings.NewReplacer("/", "-", " ", "-", ".", "-").Replace(name))
}

func refusedUsers(t *testing.T, wc *testcluster.Server) map[string]refusal {
	t.Helper()
	user := func(u string) []byte { return k0{User: u}.text(wc) }
	exec := func(body string) []byte {
		return user("{exec: {apiVersion: client.authentication.k8s.io/" + body + "}}")
	}
	cert, key := clientPair(t, wc)
	_, other := clientPair(t, wc)
	pair := func(cert, key []byte) []byte {
		return user(fmt.Sprintf(`{client-certificate-data: %q, client-key-data: %q}`, b64(cert), b64(key)))
	}
	p8 := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("S3CR3T")})
	old := pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: []byte("S3CR3T"),
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00112233445566778899AABBCCDDEEFF"},
	})
	pipe := filepath.Join(t.TempDir(), "p")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]refusal{
		"a01 aws":        {"Argo CD has no aws program", exec(`v1beta1, command: aws, args: [--region, us-east-1, eks, get-token, --cluster-name, edge]`), `exec.*(ServiceAccount token|client certificate)`},
		"a01 gke":        {"an install hint changes nothing", exec(`v1beta1, command: gke-gcloud-auth-plugin, provideClusterInfo: true, installHint: x`), `exec.*(ServiceAccount token|client certificate)`},
		"a01 kubelogin":  {"v1 is the same as v1beta1", exec(`v1, command: kubelogin, args: [get-token, --login, spn, --server-id, "00000000-0000-0000-0000-000000000001"], interactiveMode: Never`), `exec.*(ServiceAccount token|client certificate)`},
		"a01 iam":        {"v1alpha1 is gone and still found", exec(`v1alpha1, command: aws-iam-authenticator, args: [token, -i, edge]`), `exec.*(ServiceAccount token|client certificate)`},
		"a02 gcp":        {"the live token inside is not lifted out", user(`{auth-provider: {name: gcp, config: {access-token: S3CR3T-ya29, expiry: "2099-01-01T00:00:00Z", cmd-path: gcloud, token-key: "{.credential.access_token}"}}}`), `auth-?provider`},
		"a02 oidc":       {"same for OIDC", user(`{auth-provider: {name: oidc, config: {id-token: S3CR3T-jwt, idp-issuer-url: "https://idp.example.net", client-id: x}}}`), `auth-?provider`},
		"a02 basic":      {"basic auth is neither token nor certificate", user(`{username: admin, password: S3CR3T}`), `token|certificate`},
		"a04 paths":      {"files of another machine", user(`{client-certificate: 1/client.crt, client-key: 1/client.key}`), `(client-certificate|client-key).*inline`},
		"a04 pipe":       {"whoever opens it hangs", user(fmt.Sprintf(`{client-certificate: %q, client-key-data: %q}`, pipe, b64(key))), `client-certificate.*inline`},
		"a11 pkcs8":      {"nobody could type the passphrase", pair(cert, p8), `encrypted|passphrase|password`},
		"a11 old":        {"same for the old format", pair(cert, old), `encrypted|passphrase|password`},
		"a11 no key":     {"half a pair", user(fmt.Sprintf(`{client-certificate-data: %q}`, b64(cert))), `client-key`},
		"a11 other key":  {"a key of another pair", pair(cert, other), `match`},
		"a11 cert twice": {"a certificate where the key belongs", pair(cert, cert), `client-key`},
	}
}

func clientPair(t *testing.T, wc *testcluster.Server) (cert, key []byte) {
	t.Helper()
	cert, key, err := wc.CA().ClientCertificate("case-admin", time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func refusedClusters(wc *testcluster.Server) map[string]refusal {
	with := func(fields string) []byte { return k0{Cluster: "{" + fields + "}"}.text(wc) }
	const ca = `certificate-authority-data: "{{CA}}"`
	return map[string]refusal{
		"a04 ca path":           {"a file that may exist here, too", with(`server: "{{WC}}", certificate-authority: /etc/ssl/certs/ca-certificates.crt`), `certificate-authority.*inline`},
		"a05 insecure with ca":  {"Argo CD refuses both together for ever", with(`server: "{{WC}}", insecure-skip-tls-verify: true, ` + ca), `insecure-skip-tls-verify`},
		"a05 insecure":          {"nothing would be checked", with(`server: "{{WC}}", insecure-skip-tls-verify: true`), `insecure`},
		"a06 http proxy":        {"Argo CD would dial another way", with(`server: "https://[2001:db8::1]:6443", proxy-url: "http://192.0.2.7:3128", ` + ca), `proxy-url`},
		"a06 socks proxy":       {"same", with(`server: "https://[2001:db8::1]:6443", proxy-url: "socks5://192.0.2.7:1080", ` + ca), `proxy-url`},
		"a14 empty":             {"nothing to dial", with(`server: "", ` + ca), `server|address|host`},
		"own destination":       {"a Secret for it would override Argo CD's built-in credentials", with(`server: "https://kubernetes.default.svc", ` + ca), `spec.inCluster`},
		"own destination upper": {"same in another spelling", with(`server: "https://Kubernetes.default.svc.:443/", ` + ca), `spec.inCluster`},
	}
}

func refusedContexts(wc *testcluster.Server) map[string]refusal {
	two := `[{name: c, context: {cluster: k, user: u}}, {name: d, context: {cluster: k, user: u}}]`
	return map[string]refusal{
		"a07 typo":      {"never fall back to another", k0{Current: "current-context: typo"}.text(wc), `typo`},
		"a07 none":      {"it is open which", k0{Current: "# none", Contexts: two}.text(wc), `current-context`},
		"a07 only one":  {"what a file means must not change when a context is added", k0{Current: "# none"}.text(wc), `current-context`},
		"a07 two users": {"which token?", k0{Users: `[{name: u, user: {token: S3CR3T-one}}, {name: u, user: {token: S3CR3T-two}}]`}.text(wc), `duplicate.*u|u.*duplicate|twice`},
		"a07 no name":   {"an empty name is no name", k0{Current: `current-context: ""`, Contexts: `[{name: "", context: {cluster: k, user: u}}]`}.text(wc), `current-context`},
	}
}

func refusedTexts(t *testing.T, wc *testcluster.Server) map[string]refusal {
	t.Helper()
	plain := k0{}.text(wc)
	utf16le := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(string(plain))) {
		utf16le = append(utf16le, byte(unit), byte(unit>>8))
	}
	manifest := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {kubeconfig: %s}\n", b64(plain))
	large := k0{Cluster: fmt.Sprintf(`{server: "{{WC}}", certificate-authority-data: %q}`, strings.Repeat("QUFB", 150_000))}.text(wc)
	return map[string]refusal{
		"a09 documents": {"which one?", []byte(string(plain) + "---\n" + string(plain)), `document`},
		"a09 base64":    {"the whole file in base64", []byte(b64(plain)), `base64`},
		"a09 utf16":     {"Notepad's Unicode", utf16le, `UTF-16`},
		"a09 tabs":      {"YAML has no tabs", []byte("apiVersion: v1\nkind: Config\nclusters:\n\t- name: k\n"), `tab`},
		"a09 secret":    {"a manifest", []byte(manifest), `Secret`},
		// The API server takes no Secret of the case's 1.3 MB, so this one is only larger than what is read.
		"a09 large": {"more than a kubeconfig ever needs", large, `large|size|too long`},
	}
}

func refusedServers(wc *testcluster.Server) map[string]refusal {
	at := func(server string) []byte { return k0{Server: server}.text(wc) }
	return map[string]refusal{
		"a14 http":      {"the token would go in clear", at("http://edge.example.net:8080"), `https`},
		"a14 no scheme": {"client-go would take http", at("edge.example.net:6443"), `https`},
		"a14 no colon":  {"a typo", at("https//edge.example.net"), `https`},
		"a14 ipv6":      {"brackets are missing", at("https://2001:db8::1:6443"), `server|address|host`},
		"a14 user":      {"a password in an address", at("https://user:S3CR3T@edge.example.net"), `server|address|host`},
	}
}

// acceptance is a kubeconfig that must be taken, and what Argo CD is then told.
type acceptance struct {
	reason string
	// text and data, for the server at which the cluster is.
	text func(*testing.T, *testcluster.Server) []byte
	// config under which the cluster is stored; nil is a token's.
	config func(*testcluster.Server) string
	hosts  []string
}

// acceptedKubeconfigs are the cases that end with a Secret for Argo CD, which holds just this.
func acceptedKubeconfigs() map[string]func(*testing.T, *world) {
	plain := func(change func(string) string) func(*testing.T, *testcluster.Server) []byte {
		return func(_ *testing.T, wc *testcluster.Server) []byte { return []byte(change(string(k0{}.text(wc)))) }
	}
	cases := map[string]acceptance{
		"k0":      {reason: "the plainest one", text: plain(func(s string) string { return s })},
		"a09 bom": {reason: "from Windows", text: plain(func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") })},
		"a09 json": {reason: "kubectl config view -o json", text: func(t *testing.T, wc *testcluster.Server) []byte {
			var v any
			if err := yaml.Unmarshal(k0{}.text(wc), &v); err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}},
		"a09 unicode": {reason: "names in any script", text: plain(strings.NewReplacer("name: k,", "name: кластер-東京,", "cluster: k,", "cluster: кластер-東京,",
			"name: c,", "name: кластер-東京,", "current-context: c", "current-context: кластер-東京").Replace)},
		"a07 unused exec": {reason: "the unused user is not judged", text: func(_ *testing.T, wc *testcluster.Server) []byte {
			return k0{
				Clusters: `[{name: k, cluster: {server: "https://one.example.net"}}, {name: k2, cluster: {server: "{{WC}}", certificate-authority-data: "{{CA}}"}}]`,
				Contexts: `[{name: c, context: {cluster: k, user: u}}, {name: d, context: {cluster: k2, user: v}}]`,
				Current:  "current-context: d",
				Users:    `[{name: u, user: {exec: {command: aws}}}, {name: v, user: {token: S3CR3T.two}}]`,
			}.text(wc)
		}, config: func(wc *testcluster.Server) string { return tokenConfig("S3CR3T.two", wc) }},
		"a05 server name": {reason: "the certificate has another name than the address", hosts: []string{"kubernetes.default.svc"},
			text: func(_ *testing.T, wc *testcluster.Server) []byte {
				return k0{Cluster: `{server: "{{WC}}", certificate-authority-data: "{{CA}}", tls-server-name: kubernetes.default.svc}`}.text(wc)
			}, config: func(wc *testcluster.Server) string {
				return fmt.Sprintf(`{"bearerToken":"S3CR3T.abc","tlsClientConfig":{"insecure":false,"serverName":"kubernetes.default.svc","caData":%q}}`, b64(wc.CA().PEM()))
			}},
	}
	run := map[string]func(*testing.T, *world){"a11 pair": clientCertificate, "a09 bundle": bundle}
	for name, tc := range cases {
		run[name] = func(t *testing.T, _ *world) {
			wc := start(t, testcluster.Options{Hosts: tc.hosts})
			cluster := objectName("ok " + name)
			register(t, cluster, tc.text(t, wc))
			config := tokenConfig("S3CR3T.abc", wc)
			if tc.config != nil {
				config = tc.config(wc)
			}
			eventually(t, has(cluster, "Connected", "True", v1alpha1.ReasonConnected, "v1.31.4"),
				argoHas(cluster, map[string]string{"name": cluster, "server": wc.URL(), "config": config}))
			secret, err := getSecret("argocd", "cluster-"+cluster)
			if err != nil || secret.Labels["argocd.argoproj.io/secret-type"] != "cluster" {
				t.Errorf("Argo CD does not see the Secret: %v %v (%s)", secret.Labels, err, tc.reason)
			}
			if len(tc.hosts) > 0 && wc.Requests()[0].SNI != tc.hosts[0] {
				t.Errorf("the server was asked for as %q, want %q", wc.Requests()[0].SNI, tc.hosts[0])
			}
		}
	}
	return run
}

// clientCertificate is the case of a pair instead of a token.
func clientCertificate(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	wc.Change(func(b *testcluster.Behaviour) { b.Token = "S3CR3T.other" })
	cert, key := clientPair(t, wc)
	register(t, "ok-pair", wc.Kubeconfig(testcluster.KubeconfigOptions{ClientCert: cert, ClientKey: key}))
	eventually(t, has("ok-pair", "Connected", "True", v1alpha1.ReasonConnected), argoHas("ok-pair", map[string]string{
		"name": "ok-pair", "server": wc.URL(), "config": fmt.Sprintf(`{"tlsClientConfig":{"insecure":false,"caData":%q,"certData":%q,"keyData":%q}}`,
			b64(wc.CA().PEM()), b64(cert), b64(key)),
	}))
	if c := wc.Requests()[0]; c.ClientCertificate != "case-admin" || c.Authorization != "" {
		t.Errorf("the server saw certificate %q and Authorization %q", c.ClientCertificate, c.Authorization)
	}
}

// bundle is the case of 200 certificates, all of which must arrive.
func bundle(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	all := strings.Builder{}
	for range 200 {
		cert, _ := clientPair(t, wc)
		fmt.Fprintf(&all, "# %s\n%s", strings.Repeat("a line of a bundle ", 25), cert)
	}
	all.Write(wc.CA().PEM())
	register(t, "ok-bundle", wc.Kubeconfig(testcluster.KubeconfigOptions{CA: []byte(all.String())}))
	eventually(t, has("ok-bundle", "Connected", "True", v1alpha1.ReasonConnected), func() error {
		data, err := argoData("ok-bundle")
		if err != nil {
			return err
		}
		var config struct {
			TLS struct {
				CAData string `json:"caData"`
			} `json:"tlsClientConfig"`
		}
		if err := json.Unmarshal([]byte(data["config"]), &config); err != nil {
			return err
		}
		got, err := base64.StdEncoding.DecodeString(config.TLS.CAData)
		if err != nil {
			return err
		}
		n := 0
		for block, rest := pem.Decode(got); block != nil; block, rest = pem.Decode(rest) {
			if _, err := x509.ParseCertificate(block.Bytes); err != nil {
				return err
			}
			n++
		}
		if n != 201 {
			return fmt.Errorf("%d certificates were stored, want 201", n)
		}
		return nil
	})
}
