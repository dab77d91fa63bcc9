// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/hack/killproxy"
	"darkshift.io/infrared/internal/devstack"
)

// TestAPIServerKilled kills kube-apiserver at some of the operator's writes. The operator lives on.
func TestAPIServerKilled(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		write  killproxy.Write
		when   killproxy.When
	}{
		"RegisterClaim": {
			reason: "a claim was made and the answer is lost: the next try finds it",
			write:  killproxy.Write{Verb: "create", Path: "/api/v1/namespaces/infrared/configmaps"},
			when:   killproxy.After,
		},
		"RegisterArgo": {
			reason: "Argo CD's Secret was not written: it is written once the server is back",
			write:  killproxy.Write{Verb: "apply", Path: "/api/v1/namespaces/argocd/secrets/{name}"},
			when:   killproxy.Before,
		},
		"DeleteArgo": {
			reason: "Argo CD's Secret is on its way and keeps our finalizer until the server is back",
			write:  killproxy.Write{Verb: "delete", Path: "/api/v1/namespaces/argocd/secrets/{name}"},
			when:   killproxy.After,
		},
		"DeleteRecord": {
			reason: "the record was written and the answer is lost: there is still one record",
			write:  killproxy.Write{Verb: "create", Path: "/apis/infrared.darkshift.io/v1alpha1/deletionrecords"},
			when:   killproxy.After,
		},
	}
	w := newWorld(t)
	proxy := newProxy(t, w)
	life := newLife(t, w)
	run(t, operatorCommand(t, proxyKubeconfig(t, w, proxy), "--leader-elect=false", "--metrics-bind-address=0")())
	number := 0
	for name, tc := range cases {
		number++
		t.Run(name, func(t *testing.T) {
			ctx := patience(t)
			if err := life.prepare(ctx, number); err != nil {
				t.Fatal(err)
			}
			if err := w.register(ctx, bystander, life.bystander); err != nil {
				t.Fatal(err)
			}
			proxy.ArmAt(tc.write, tc.when, func() {
				w.ControlPlane.Kill(devstack.APIServer)
				if err := w.ControlPlane.StartComponent(devstack.APIServer); err != nil {
					t.Errorf("starting kube-apiserver again: %v", err)
				}
			})
			if err := life.job(ctx, number); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			end, err := life.end(ctx, number)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if _, fired := proxy.Fired(); !fired {
				t.Errorf("the operator did not come to %s", tc.write)
			}
			if diff := cmp.Diff(inAnyOrder(goodEnd), inAnyOrder(strings.Split(end, "\n"))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// inAnyOrder leaves out what was seen by watch, since a watch does not outlive its server.
func inAnyOrder(end []string) []string {
	var rest []string
	for _, line := range end {
		if !strings.HasPrefix(line, "order: ") {
			rest = append(rest, line)
		}
	}
	return rest
}
