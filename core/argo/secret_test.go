// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package argo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/sdk/kubeconfig"
)

func edge() *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge", UID: "00000000-0000-4000-8000-000000000001"},
		Spec:       v1alpha1.ClusterSpec{Incarnation: "00000000-0000-4000-8000-000000000001"},
	}
}

// stored is the Secret that the API server would have after Ensure.
func stored(t testing.TB, d Destination) *corev1.Secret {
	t.Helper()
	data, err := render(edge(), d)
	if err != nil {
		t.Fatal(err)
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "cluster-edge", Labels: map[string]string{secretTypeLabel: "cluster"}}, Data: data}
	if d.Server != d.Config.Server {
		s.Annotations = map[string]string{v1alpha1.AnnotationServer: d.Config.Server}
	}
	owned.Mark(s, edge())
	return s
}

func destination(server, own, token, name string, ca, cert, key []byte) Destination {
	return Destination{Server: server, Config: kubeconfig.Config{
		Server: own, TLSServerName: name, CAData: ca, ClientCertData: cert,
		Token: kubeconfig.NewSecret(token), ClientKeyData: kubeconfig.NewSecret(string(key)),
	}}
}

// reveal makes two destinations comparable, with nothing and empty as one.
func reveal(d Destination) []string {
	c := d.Config
	return []string{d.Server, c.Server, c.TLSServerName, string(c.CAData), string(c.ClientCertData), c.Token.Reveal(), c.ClientKeyData.Reveal()}
}

func TestRender(t *testing.T) {
	cases := map[string]struct {
		reason string
		d      Destination
		config string
	}{
		"token": {"base64 of the PEM, once", destination("https://a", "https://a", "S3CR3T.abc", "", []byte("PEM"), nil, nil),
			`{"bearerToken":"S3CR3T.abc","tlsClientConfig":{"insecure":false,"caData":"UEVN"}}`},
		"certificate": {"no token beside a certificate", destination("https://a", "https://a", "", "", []byte("PEM"), []byte("C"), []byte("K")),
			`{"tlsClientConfig":{"insecure":false,"caData":"UEVN","certData":"Qw==","keyData":"Sw=="}}`},
		"system CA": {"no CA: the system's", destination("https://a", "https://a", "t", "", nil, nil, nil),
			`{"bearerToken":"t","tlsClientConfig":{"insecure":false}}`},
		"server name": {"kept", destination("https://a", "https://a", "t", "b", nil, nil, nil),
			`{"bearerToken":"t","tlsClientConfig":{"insecure":false,"serverName":"b"}}`},
	}
	for name, tc := range cases {
		data, err := render(edge(), tc.d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.config, string(data["config"])); diff != "" || string(data["name"]) != "edge" || string(data["server"]) != "https://a" {
			t.Errorf("%s (%s): %s", name, tc.reason, diff)
		}
	}
}

// FuzzRoundTrip is that what was written is read back, whatever is in it, and that a broken text is never quoted.
func FuzzRoundTrip(f *testing.F) {
	f.Add("https://a:6443", "https://b", "S3CR3T.abc", "c", []byte("PEM"), []byte("C"), []byte("K"), 10)
	f.Add("https://a", "https://a", `"quotes\" and <html>`, "", []byte(nil), []byte{0, 255}, []byte("K\r\n"), 0)
	f.Fuzz(func(t *testing.T, server, own, token, name string, ca, cert, key []byte, cut int) {
		// The reader of kubeconfigs takes text in UTF-8 only, and an empty own address is none.
		for _, text := range []*string{&server, &own, &token, &name} {
			*text = strings.ToValidUTF8(*text, "")
		}
		if own == "" {
			own = server
		}
		want := destination(server, own, token, name, ca, cert, key)
		secret := stored(t, want)
		got, err := Read(secret)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(reveal(want), reveal(got)); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
		if !upToDate(secret, edge(), secret.Data, secret.Annotations[v1alpha1.AnnotationServer]) {
			t.Error("what was just written counts as out of date")
		}
		broken := secret.DeepCopy()
		broken.Data["config"] = append([]byte("{S3CR3T"), broken.Data["config"][:max(0, min(cut, len(broken.Data["config"])))]...)
		if _, err := Read(broken); err == nil || strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("a broken text: %v", err)
		}
	})
}

// TestUpToDate is that whatever of ours somebody changes is seen, and what is theirs is not.
func TestUpToDate(t *testing.T) {
	d := destination("https://a", "https://b", "t", "", []byte("PEM"), nil, nil)
	cases := map[string]struct {
		reason string
		change func(*corev1.Secret)
		want   bool
	}{
		"nothing":    {"as written", func(*corev1.Secret) {}, true},
		"theirs":     {"Argo CD's own keys and labels", func(s *corev1.Secret) { s.Data["shard"], s.Labels["team"] = []byte("1"), "x" }, true},
		"config":     {"a credential", func(s *corev1.Secret) { s.Data["config"] = append(s.Data["config"], ' ') }, false},
		"server":     {"an address", func(s *corev1.Secret) { s.Data["server"] = []byte("https://c") }, false},
		"name gone":  {"a key", func(s *corev1.Secret) { delete(s.Data, "name") }, false},
		"type":       {"the label by which Argo CD finds it", func(s *corev1.Secret) { delete(s.Labels, secretTypeLabel) }, false},
		"our label":  {"the label by which we do", func(s *corev1.Secret) { delete(s.Labels, v1alpha1.LabelIncarnation) }, false},
		"owner":      {"the owner", func(s *corev1.Secret) { s.OwnerReferences = nil }, false},
		"finalizer":  {"the finalizer", func(s *corev1.Secret) { s.Finalizers = nil }, false},
		"annotation": {"the address we use", func(s *corev1.Secret) { s.Annotations = nil }, false},
	}
	for name, tc := range cases {
		secret := stored(t, d)
		data := stored(t, d).Data
		tc.change(secret)
		if got := upToDate(secret, edge(), data, "https://b"); got != tc.want {
			t.Errorf("%s: %v: %s", name, got, tc.reason)
		}
	}
}

// TestNoOtherFields is that Argo CD is never told to run a program, to go through a proxy or to check nothing.
func TestNoOtherFields(t *testing.T) {
	secret := stored(t, destination("https://a", "https://a", "t", "n", []byte("PEM"), []byte("C"), []byte("K")))
	var fields map[string]any
	if err := json.Unmarshal(secret.Data["config"], &fields); err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"execProviderConfig", "awsAuthConfig", "proxyUrl", "username", "password"} {
		if _, there := fields[never]; there {
			t.Errorf("%s is written", never)
		}
	}
	if !bytes.Contains(secret.Data["config"], []byte(`"insecure":false`)) {
		t.Error("certificates are not checked")
	}
}
