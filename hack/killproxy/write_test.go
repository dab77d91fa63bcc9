// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	cases := map[string]struct {
		reason      string
		method      string
		target      string
		contentType string
		counts      bool
		want        string
	}{
		"ClusterScopedStatus": {
			reason: "a cluster-scoped object's name is replaced and its subresource stays",
			method: http.MethodPatch, target: "/apis/infrared.darkshift.io/v1alpha1/clusters/edge/status",
			counts: true, want: "patch /apis/infrared.darkshift.io/v1alpha1/clusters/{name}/status",
		},
		"NamespacedApply": {
			reason: "the namespace stays, as it tells two Secrets apart; apply is told from other patches by its type",
			method: http.MethodPatch, target: "/api/v1/namespaces/argocd/secrets/cluster-edge?fieldManager=x",
			contentType: "application/apply-patch+yaml",
			counts:      true, want: "apply /api/v1/namespaces/argocd/secrets/{name}",
		},
		"Create": {
			reason: "a create has no name in its path",
			method: http.MethodPost, target: "/api/v1/namespaces/infrared/secrets",
			counts: true, want: "create /api/v1/namespaces/infrared/secrets",
		},
		"Namespace": {
			reason: "a namespace is itself an object with a name",
			method: http.MethodDelete, target: "/api/v1/namespaces/ir-org-acme",
			counts: true, want: "delete /api/v1/namespaces/{name}",
		},
		"NamespaceFinalize": {
			reason: "a namespace's own subresource is not a resource inside it",
			method: http.MethodPut, target: "/api/v1/namespaces/ir-org-acme/finalize",
			counts: true, want: "update /api/v1/namespaces/{name}/finalize",
		},
		"TokenRequest": {
			reason: "a token is asked for with a POST that hands out a credential, so dying around it matters",
			method: http.MethodPost, target: "/api/v1/namespaces/kube-system/serviceaccounts/infrared/token",
			counts: true, want: "create /api/v1/namespaces/kube-system/serviceaccounts/{name}/token",
		},
		"OtherServer": {
			reason: "a path of another server, such as a forge, is kept whole",
			method: http.MethodPost, target: "/repos/acme/gitops/pulls",
			counts: true, want: "create /repos/acme/gitops/pulls",
		},
		"Lease": {
			reason: "leader election renews its lease by the clock",
			method: http.MethodPut, target: "/apis/coordination.k8s.io/v1/namespaces/infrared/leases/infrared-operator",
			want: "update /apis/coordination.k8s.io/v1/namespaces/infrared/leases/{name}",
		},
		"CoreEvent": {
			reason: "losing an event changes no end",
			method: http.MethodPost, target: "/api/v1/namespaces/default/events",
			want: "create /api/v1/namespaces/default/events",
		},
		"NewEvent": {
			reason: "the newer events API is the same thing",
			method: http.MethodPost, target: "/apis/events.k8s.io/v1/namespaces/default/events",
			want: "create /apis/events.k8s.io/v1/namespaces/default/events",
		},
		"TokenReview": {
			reason: "a review stores nothing",
			method: http.MethodPost, target: "/apis/authentication.k8s.io/v1/tokenreviews",
			want: "create /apis/authentication.k8s.io/v1/tokenreviews",
		},
		"AccessReview": {
			reason: "a review stores nothing",
			method: http.MethodPost, target: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			want: "create /apis/authorization.k8s.io/v1/subjectaccessreviews",
		},
		"DryRun": {
			reason: "a dry run stores nothing",
			method: http.MethodPatch, target: "/api/v1/namespaces/argocd/secrets/x?dryRun=All",
			want: "patch /api/v1/namespaces/argocd/secrets/{name}",
		},
		"Exec": {
			reason: "exec reaches into a pod and stores nothing on the server",
			method: http.MethodPost, target: "/api/v1/namespaces/infrared/pods/x/exec?command=ls",
			want: "create /api/v1/namespaces/infrared/pods/{name}/exec",
		},
		"ServiceProxy": {
			reason: "a proxied request goes past the server",
			method: http.MethodPost, target: "/api/v1/namespaces/infrared/services/x/proxy/hook",
			want: "create /api/v1/namespaces/infrared/services/{name}/proxy/hook",
		},
		"Read": {
			reason: "a read changes nothing",
			method: http.MethodGet, target: "/api/v1/nodes",
			want: "patch /api/v1/nodes",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, tc.target, nil)
			r.Header.Set("Content-Type", tc.contentType)
			if diff := cmp.Diff(tc.counts, CountsAsWrite(r)); diff != "" {
				t.Errorf("%s: counts, -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, newWrite(r).String()); diff != "" {
				t.Errorf("%s: write, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
