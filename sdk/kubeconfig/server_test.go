// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/kubeconfig"
)

func TestServerKey(t *testing.T) {
	tests := map[string]struct {
		reason string
		a, b   string
		same   bool
	}{
		"same":                {"the same text", "https://api.edge.example.net:6443", "https://api.edge.example.net:6443", true},
		"slash":               {"a slash more", "https://api.edge.example.net:6443", "https://api.edge.example.net:6443/", true},
		"case":                {"hosts have no case", "https://api.edge.example.net:6443", "https://API.edge.example.net:6443", true},
		"scheme":              {"nor has the scheme", "https://z.example.net", "HTTPS://z.example.net", true},
		"port":                {"443 is the default", "https://z.example.net", "https://z.example.net:443", true},
		"port with zeros":     {"a number", "https://z.example.net:443", "https://z.example.net:0443", true},
		"dot":                 {"a name from the root", "https://z.example.net", "https://z.example.net.", true},
		"IDNA":                {"two spellings of one name", "https://bücher.example.net", "https://XN--bcher-kva.example.net", true},
		"full width":          {"digits of another script", "https://z.example.net", "https://ｚ.example.net", true},
		"IPv6":                {"two spellings of one address", "https://[2001:db8::1]", "https://[2001:DB8:0:0::0001]:443", true},
		"mapped":              {"Go dials the address inside", "https://192.0.2.1", "https://[::ffff:192.0.2.1]", true},
		"escape":              {"an escape that need not be", "https://z.example.net/A", "https://z.example.net/%41", true},
		"blanks":              {"from a paste", "https://z.example.net", " https://z.example.net\n", true},
		"other port":          {"another server", "https://z.example.net", "https://z.example.net:6443", false},
		"other path":          {"Rancher: same host, other path", "https://rancher.example.net/k8s/clusters/c-m-aaaa1111/", "https://rancher.example.net/k8s/clusters/c-m-bbbb2222", false},
		"case of path":        {"paths have case", "https://z.example.net/A", "https://z.example.net/a", false},
		"what is no address":  {"its own key", "nonsense", "https://nonsense", false},
		"nonsense is the one": {"its own key", "nonsense", "nonsense", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := kubeconfig.ServerKey(tc.a), kubeconfig.ServerKey(tc.b)
			if (a == b) != tc.same {
				t.Errorf("keys %q and %q, same should be %v: %s", a, b, tc.same, tc.reason)
			}
		})
	}
}

func TestCheckServerNamesItsField(t *testing.T) {
	_, err := kubeconfig.CheckServer("spec.server", "http://edge.example.net")
	var refused *kubeconfig.Error
	if !errors.As(err, &refused) || refused.Field != "spec.server" || refused.Reason != kubeconfig.ReasonServer {
		t.Errorf("CheckServer gave %v, want a refusal of spec.server", err)
	}
	got, err := kubeconfig.CheckServer("spec.server", "https://edge.example.net/")
	if err != nil || got != "https://edge.example.net" {
		t.Errorf("CheckServer gave %q, %v", got, err)
	}
}

func TestTokenSubject(t *testing.T) {
	token := func(claims any) string {
		body, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(body) + ".S3CR3T"
	}
	type claims = map[string]any
	const sub = "system:serviceaccount:kube-system:infrared"
	tests := map[string]struct {
		reason string
		token  string
		want   kubeconfig.Subject
		ok     bool
	}{
		"bound": {"from TokenRequest", token(claims{"sub": sub, "aud": []string{"https://kubernetes.default.svc", "k3s"}, "exp": 1790000000}),
			kubeconfig.Subject{Namespace: "kube-system", Name: "infrared", Audiences: []string{"https://kubernetes.default.svc", "k3s"}, Expiry: time.Unix(1790000000, 0).UTC()}, true},
		"one audience": {"JWT allows a text", token(claims{"sub": sub, "aud": "api", "exp": 1790000000.5}),
			kubeconfig.Subject{Namespace: "kube-system", Name: "infrared", Audiences: []string{"api"}, Expiry: time.Unix(1790000000, 0).UTC()}, true},
		"old":          {"kept in a Secret, never ends", token(claims{"sub": sub, "iss": "kubernetes/serviceaccount"}), kubeconfig.Subject{Namespace: "kube-system", Name: "infrared"}, true},
		"odd expiry":   {"no year has it", token(claims{"sub": sub, "exp": 1e30}), kubeconfig.Subject{Namespace: "kube-system", Name: "infrared"}, true},
		"dotted":       {"names may hold dots", token(claims{"sub": "system:serviceaccount:a:b.c"}), kubeconfig.Subject{Namespace: "a", Name: "b.c"}, true},
		"a person's":   {"OIDC", token(claims{"sub": "jane@example.net"}), kubeconfig.Subject{}, false},
		"bad name":     {"it would be shown", token(claims{"sub": "system:serviceaccount:kube-system:in\nfrared"}), kubeconfig.Subject{}, false},
		"no name":      {"half", token(claims{"sub": "system:serviceaccount:kube-system"}), kubeconfig.Subject{}, false},
		"not a JWT":    {"Rancher's", "kubeconfig-u-x:S3CR3T", kubeconfig.Subject{}, false},
		"not base64":   {"three words", "a.%.b", kubeconfig.Subject{}, false},
		"not claims":   {"a list", token([]string{"x"}), kubeconfig.Subject{}, false},
		"wrong claims": {"a number where a text belongs", token(claims{"sub": 5}), kubeconfig.Subject{}, false},
		"empty":        {"no token", "", kubeconfig.Subject{}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := kubeconfig.TokenSubject(kubeconfig.NewSecret(tc.token))
			if diff := cmp.Diff(tc.want, got); ok != tc.ok || diff != "" {
				t.Errorf("TokenSubject is %v, want %v (%s); want - got +:\n%s", ok, tc.ok, tc.reason, diff)
			}
		})
	}
}

// What is written holds nothing but what was asked for, and one cluster, context and user.
func TestWrite(t *testing.T) {
	got := string(kubeconfig.Write(kubeconfig.Config{Server: "https://edge.example.net", Token: kubeconfig.NewSecret("S3CR3T")}))
	want := `apiVersion: v1
kind: Config
clusters:
  - name: infrared
    cluster:
      server: https://edge.example.net
contexts:
  - name: infrared
    context:
      cluster: infrared
      user: infrared
current-context: infrared
users:
  - name: infrared
    user:
      token: S3CR3T
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Write, want - got +:\n%s", diff)
	}
}
