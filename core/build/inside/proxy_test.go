// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"darkshift.io/infrared/core/build/run"
)

// startTestProxy is a proxy of a cluster, and a client that trusts it.
func startTestProxy(t *testing.T, c *cluster) (*proxy, *http.Client) {
	t.Helper()
	p, err := startProxy(c.objects(), namespace, Pod{Job: "job-1", JobUID: "u1", Name: "pod-1", UID: "u2", Node: "node-1"})
	must(t, 0, err)
	t.Cleanup(p.close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return p, &http.Client{Transport: transport}
}

func TestProxy(t *testing.T) {
	c := newCluster(t, small)
	p, client := startTestProxy(t, c)
	other := "tfstate-default-other"
	_, err := management.client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: other}}, metav1.CreateOptions{})
	must(t, 0, err)
	core, leases := "/api/v1/namespaces/infrared", "/apis/coordination.k8s.io/v1/namespaces/infrared/leases"
	state, lease := core+"/secrets/"+c.names.State(), leases+"/"+c.names.Lease()
	secretOf := func(name, data string) string {
		return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"` + name + `"},"data":{` + data + `}}`
	}
	secretBody := secretOf(c.names.State(), `"tfstate":"eA==","more":"eA=="`)
	leaseBody := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"` + c.names.Lease() + `","annotations":{"app.terraform.io/lock-info":"{}","x":"y"}},"spec":{"holderIdentity":"lock-1"}}`
	for name, test := range map[string]struct {
		reason             string
		method, path, body string
		token              string
		code               int
	}{
		"get the state":       {"tofu reads it", "GET", state, "", p.token, 200},
		"put the state":       {"tofu writes it", "PUT", state, secretBody, p.token, 200},
		"list":                {"tofu init looks for workspaces", "GET", core + "/secrets?labelSelector=tfstate%3Dtrue", "", p.token, 200},
		"get the lease":       {"tofu looks for a lock", "GET", lease, "", p.token, 200},
		"put the lease":       {"tofu takes the lock", "PUT", lease, leaseBody, p.token, 200},
		"no token":            {"only the run's own tofu is answered", "GET", state, "", "", 401},
		"another token":       {"only the run's own tofu is answered", "GET", state, "", "x", 401},
		"another Secret":      {"it may hold a kubeconfig", "GET", core + "/secrets/" + other, "", p.token, 403},
		"the plan":            {"tofu has no business with it", "GET", core + "/secrets/" + c.names.Plan(), "", p.token, 403},
		"a part":              {"parts are not seen through the proxy", "GET", core + "/secrets/" + c.names.Part("a", 0), "", p.token, 403},
		"another namespace":   {"the names count in one only", "GET", strings.Replace(state, "infrared", "default", 1), "", p.token, 403},
		"a way round":         {"paths are compared as they are", "GET", core + "/secrets/x/../" + c.names.State(), "", p.token, 403},
		"delete the state":    {"it outlives every run", "DELETE", state, "", p.token, 403},
		"create a Secret":     {"the operator makes them", "POST", core + "/secrets", secretBody, p.token, 403},
		"watch":               {"tofu watches nothing", "GET", core + "/secrets?watch=true", "", p.token, 403},
		"dry run":             {"it would be taken for a real one", "PUT", state + "?dryRun=All", secretBody, p.token, 403},
		"patch the lease":     {"only get and update", "PATCH", lease, leaseBody, p.token, 403},
		"ConfigMaps":          {"tofu has no business with them", "GET", core + "/configmaps/" + c.names.Ledger(), "", p.token, 403},
		"no object":           {"garbage changes nothing", "PUT", state, "x", p.token, 400},
		"another's state":     {"the body has to be about the same object as the path", "PUT", state, secretOf(other, `"tfstate":"eA=="`), p.token, 400},
		"no state":            {"a cluster whose state is lost looks as if it had never been built", "PUT", state, secretOf(c.names.State(), ""), p.token, 400},
		"another kind":        {"a Lease is no state", "PUT", state, leaseBody, p.token, 400},
		"the server's paths":  {"nothing is passed on", "GET", "/version", "", p.token, 403},
		"everybody's secrets": {"nothing is passed on", "GET", "/api/v1/secrets", "", p.token, 403},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, p.url+test.path, strings.NewReader(test.body))
			must(t, 0, err)
			if test.token != "" {
				request.Header.Set("Authorization", "Bearer "+test.token)
			}
			answer, err := client.Do(request)
			must(t, 0, err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			must(t, 0, err)
			var object struct{ Kind, Message string }
			if err := json.Unmarshal(text, &object); err != nil || answer.StatusCode != test.code {
				t.Fatalf("answered %d: %s; want %d: %s", answer.StatusCode, text, test.code, test.reason)
			}
			if test.code != 200 && (object.Kind != "Status" || object.Message == "") {
				t.Errorf("a refusal is not a Status in words: %s", text)
			}
			if bytes.Contains(text, []byte(other)) {
				t.Errorf("another Secret shows: %s", text)
			}
		})
	}
	written := c.getSecret(c.names.State())
	if string(written.Data[keyState]) != "x" || len(written.Data) != 1 || len(written.Finalizers) != 1 {
		t.Errorf("the state's Secret is %v with finalizers %v: only the state may be written", written.Data, written.Finalizers)
	}
	taken := c.lease()
	want := map[string]string{run.StampPod: "pod-1", run.StampJob: "job-1", run.StampLock: "lock-1", lockInfo: "{}", "x": ""}
	for name, value := range want {
		if taken.Annotations[name] != value {
			t.Errorf("the Lease's annotation %s is %q, want %q", name, taken.Annotations[name], value)
		}
	}
}

// The pod's own account may do no more than the proxy lets through.
func TestRights(t *testing.T) {
	c := newCluster(t, small)
	client, err := kubernetes.NewForConfig(c.config)
	must(t, 0, err)
	ctx := t.Context()
	_, list := client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	_, other := client.CoreV1().Secrets(namespace).Get(ctx, "other", metav1.GetOptions{})
	_, create := client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
	remove := client.CoreV1().Secrets(namespace).Delete(ctx, c.names.State(), metav1.DeleteOptions{})
	for name, err := range map[string]error{"list": list, "get another": other, "create": create, "delete": remove} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}
