// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"
	"time"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
)

// hostile is an API server that is not well, and how its Cluster says so.
type hostile struct {
	reason    string
	behave    func(*testcluster.Behaviour)
	condition string
	word      string
}

// hostileCases are API servers that are dead, slow, lying or huge. All of them stand side by side with good ones, which must not
// notice.
func hostileCases() map[string]func(*testing.T, *world) {
	cases := map[string]hostile{
		"401":      {"the token was withdrawn", func(b *testcluster.Behaviour) { b.Token = "S3CR3T.other" }, v1alpha1.ReasonUnauthorized, "does not take the credential"},
		"403":      {"an account without any right", func(b *testcluster.Behaviour) { b.Forbidden = []string{"/version"} }, v1alpha1.ReasonUnauthorized, "ClusterRole"},
		"503":      {"not up yet", func(b *testcluster.Behaviour) { b.Status = 503 }, v1alpha1.ReasonUnreachable, "503"},
		"expired":  {"the server's certificate has ended", func(b *testcluster.Behaviour) { b.ExpiredCertificate = true }, v1alpha1.ReasonCertificateInvalid, "valid from"},
		"hang":     {"connected and never answered", func(b *testcluster.Behaviour) { b.Hang = true }, v1alpha1.ReasonUnreachable, "in time"},
		"drip":     {"a byte now and then", func(b *testcluster.Behaviour) { b.Drip = 200 * time.Millisecond }, v1alpha1.ReasonUnreachable, "in time"},
		"huge":     {"an answer without an end", func(b *testcluster.Behaviour) { b.Huge = true }, v1alpha1.ReasonNotKubernetes, "sends too much"},
		"list":     {"nodes without an end", func(b *testcluster.Behaviour) { b.HugeList, b.Only = true, []string{"/nodes"} }, v1alpha1.ReasonNotKubernetes, "sends too much"},
		"bomb":     {"small on the wire, huge in memory", func(b *testcluster.Behaviour) { b.GzipBomb = true }, v1alpha1.ReasonNotKubernetes, "sends too much"},
		"garbage":  {"a web page", func(b *testcluster.Behaviour) { b.Body = "<html>S3CR3T</html>" }, v1alpha1.ReasonNotKubernetes, "JSON"},
		"other":    {"JSON of something else", func(b *testcluster.Behaviour) { b.Body = `{"version": "S3CR3T"}` }, v1alpha1.ReasonNotKubernetes, "Kubernetes"},
		"redirect": {"to where the policy would have to be asked again", func(b *testcluster.Behaviour) { b.Redirect = "https://169.254.169.254/" }, v1alpha1.ReasonNotKubernetes, "redirect"},
		"cut":      {"the connection breaks in the middle", func(b *testcluster.Behaviour) { b.Cut = true }, v1alpha1.ReasonUnreachable, "breaks"},
	}
	run := map[string]func(*testing.T, *world){"wrong ca": wrongCA, "dead": dead, "comes back": comesBack}
	for name, tc := range cases {
		run[name] = func(t *testing.T, _ *world) {
			b := testcluster.Good()
			tc.behave(&b)
			wc := start(t, testcluster.Options{Behaviour: &b})
			cluster := "hostile-" + name
			register(t, cluster, wc.Kubeconfig(testcluster.KubeconfigOptions{Token: "S3CR3T.abc"}))
			// The wait is bounded by testenv.Patience, a look by ten seconds.
			eventually(t, has(cluster, "Connected", "False", tc.condition, tc.word), absent("argocd", "cluster-"+cluster),
				has(cluster, "Registered", "False", v1alpha1.ReasonNotConnected))
		}
	}
	return run
}

func wrongCA(t *testing.T, _ *world) {
	wc, other := start(t, testcluster.Options{}), start(t, testcluster.Options{})
	register(t, "wrong-ca", wc.Kubeconfig(testcluster.KubeconfigOptions{CA: other.CA().PEM()}))
	eventually(t, has("wrong-ca", "Connected", "False", v1alpha1.ReasonCertificateInvalid, "certificate-authority-data"), absent("argocd", "cluster-wrong-ca"))
}

func dead(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	text := k0{}.text(wc)
	wc.Close()
	register(t, "dead", text)
	eventually(t, has("dead", "Connected", "False", v1alpha1.ReasonUnreachable, "refuses the connection"))
	// One that nobody can reach is let go like any other.
	letGo(t, "dead")
}

// comesBack is that a cluster that was down connects by itself within seconds.
func comesBack(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	wc.Change(func(b *testcluster.Behaviour) { b.Status = 503 })
	register(t, "comes-back", k0{}.text(wc))
	eventually(t, has("comes-back", "Connected", "False", v1alpha1.ReasonUnreachable))
	wc.Change(func(b *testcluster.Behaviour) { b.Status = 0 })
	eventually(t, has("comes-back", "Connected", "True", v1alpha1.ReasonConnected))
}
