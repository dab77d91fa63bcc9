// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

// checkConfined looks at a pod's main container from this machine: what the kernel holds it to, not what its spec says.
func checkConfined(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	pid := initOf(t, pod)
	status := statusOf(t, pid)
	got := map[string]string{}
	want := map[string]string{
		"Uid": "65532 65532 65532 65532", "Gid": "65532 65532 65532 65532", "Groups": "65532",
		"CapInh": noCapabilities, "CapPrm": noCapabilities, "CapEff": noCapabilities, "CapBnd": noCapabilities, "CapAmb": noCapabilities,
		"NoNewPrivs": "1", "Seccomp": "2",
	}
	for name := range want {
		got[name] = status[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the kernel holds the run to (-want +got):\n%s", diff)
	}
	if args := argumentsOf(t, pid); args[0] != run.Programs+"/infrared-build" {
		t.Errorf("process 1 is %q, wanted infrared-build, which turns SIGTERM into an end in order", args)
	}
	programs, err := os.ReadDir(filepath.Join(fmt.Sprintf("/proc/%d/root", pid), run.Programs, "plugins"))
	if err != nil || len(programs) != 1 || programs[0].Name() != pluginName {
		t.Errorf("the plugins that the init container copied are %v (error %v), wanted %s alone", programs, err, pluginName)
	}
	// As the run itself would try it.
	for _, dir := range []string{"", "/usr", "/etc", run.Programs, run.Credentials} {
		out, err := shared.kubectl(t.Context(), "-n", pod.Namespace, "exec", pod.Name, "-c", "tofu", "--", "/bin/sh", "-c", "echo x > "+dir+"/probe")
		if err == nil || !strings.Contains(out, "Read-only file system") {
			t.Errorf("writing to %s/probe gave error %v and %q, wanted a read-only file system", dir, err, out)
		}
	}
	for _, dir := range []string{run.Work, "/tmp"} {
		if out, err := shared.kubectl(t.Context(), "-n", pod.Namespace, "exec", pod.Name, "-c", "tofu", "--", "/bin/sh", "-c", "echo x > "+dir+"/probe"); err != nil {
			t.Errorf("writing to %s/probe gave error %v and %q", dir, err, out)
		}
	}
}

// checkRights takes the token that is mounted into the pod, and tries what a run may do with it and what not.
func (b *builder) checkRights(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	token, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/var/run/secrets/kubernetes.io/serviceaccount/token", initOf(t, pod)))
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(shared.admin)
	config.BearerToken = string(token)
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	names := run.NamesOf(b.cluster.Name, b.incarnation)
	secrets := api.CoreV1().Secrets(v1alpha1.Namespace)
	get := func(name string) func() error {
		return func() error { _, err := secrets.Get(t.Context(), name, metav1.GetOptions{}); return err }
	}
	cases := map[string]struct {
		reason  string
		try     func() error
		allowed bool
	}{
		"its state":        {reason: "OpenTofu keeps its state there", try: get(names.State()), allowed: true},
		"the credentials":  {reason: "they are mounted, and need not be readable by name", try: get(v1alpha1.CredentialsSecretName(b.cluster.Name))},
		"all Secrets":      {reason: "a list shows everybody's kubeconfigs", try: func() error { _, err := secrets.List(t.Context(), metav1.ListOptions{}); return err }},
		"deleting a state": {reason: "what is built would be forgotten", try: func() error { return secrets.Delete(t.Context(), names.State(), metav1.DeleteOptions{}) }},
		"making a Secret": {reason: "no rule by name can allow that", try: func() error {
			_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "made-by-a-run"}}, metav1.CreateOptions{})
			return err
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			switch err := c.try(); {
			case c.allowed && err != nil:
				t.Errorf("%s, but the token got %v", c.reason, err)
			case !c.allowed && !apierrors.IsForbidden(err):
				t.Errorf("%s, but the token got %v, wanted Forbidden", c.reason, err)
			}
		})
	}
}

// checkNotEvicted has the node's drain ask for the pod.
func checkNotEvicted(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	err := shared.client.PolicyV1().Evictions(pod.Namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("evicting a run's pod gave %v, wanted the disruption budget's refusal", err)
	}
}
