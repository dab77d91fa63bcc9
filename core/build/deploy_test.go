// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/testenv"
)

// read decodes a manifest of deploy, and refuses what its kind does not have.
func read(t *testing.T, into any, path ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{env.Root, "deploy"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatal(err)
	}
}

// TestDeployBuild is what the API server says of the manifests.
func TestDeployBuild(t *testing.T) {
	t.Parallel()
	out, err := env.Kubectl(t.Context(), "apply", "--server-side", "--dry-run=server", "-f", filepath.Join(env.Root, "deploy", "build"))
	if err != nil || strings.Contains(out, "Warning") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPolicySelectors is which pods the manifests are about.
func TestPolicySelectors(t *testing.T) {
	t.Parallel()
	s := newSite(t, "selected")
	s.until(s.is(v1alpha1.RunRunning, ""))
	var network networkingv1.NetworkPolicy
	read(t, &network, "build", "networkpolicy.yaml")
	var budget policyv1.PodDisruptionBudget
	read(t, &budget, "build", "disruption.yaml")
	ours := s.pod()
	cases := map[string]struct {
		reason    string
		namespace string
		labels    map[string]string
		selected  bool
	}{
		"a run":                {"its module is code from elsewhere", ours.Namespace, ours.Labels, true},
		"the operator":         {"it reaches clusters and is reached by probes", "infrared", map[string]string{"app.kubernetes.io/name": "infrared-operator"}, false},
		"a run elsewhere":      {"there are none in another namespace", "default", ours.Labels, false},
		"a cluster's own pods": {"the labels alone don't make a run", "infrared", map[string]string{v1alpha1.LabelCluster: "selected"}, false},
		"nobody's":             {"it has no labels", "infrared", nil, false},
	}
	for name, tc := range cases {
		for kind, by := range map[string]struct {
			namespace string
			selector  *metav1.LabelSelector
		}{
			"NetworkPolicy":       {network.Namespace, &network.Spec.PodSelector},
			"PodDisruptionBudget": {budget.Namespace, budget.Spec.Selector},
		} {
			selector, err := metav1.LabelSelectorAsSelector(by.selector)
			if err != nil {
				t.Fatal(err)
			}
			if got := by.namespace == tc.namespace && selector.Matches(labels.Set(tc.labels)); got != tc.selected {
				t.Errorf("%s selects %s: %t, want %t: %s", kind, name, got, tc.selected, tc.reason)
			}
		}
	}
	if len(network.Spec.Ingress) > 0 || !slices.Contains(network.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
		t.Error("something may reach a run")
	}
}

// TestPolicyAddresses is what a run may reach.
func TestPolicyAddresses(t *testing.T) {
	t.Parallel()
	var network networkingv1.NetworkPolicy
	read(t, &network, "build", "networkpolicy.yaml")
	cases := map[string]struct {
		reason  string
		address string
		port    int
		allowed bool
	}{
		"a cloud":               {"it is what a run is for", "203.0.113.7", 443, true},
		"a cloud over IPv6":     {"the same", "2001:db8::7", 443, true},
		"a private network":     {"the API server and a git server may be there", "10.96.0.1", 443, true},
		"node credentials":      {"they are not the run's", "169.254.169.254", 80, false},
		"container credentials": {"they are not the run's", "169.254.170.2", 80, false},
		"AWS over IPv6":         {"they are not the run's", "fd00:ec2::254", 80, false},
		"AWS's DNS over IPv6":   {"all of that prefix is AWS's own", "fd00:ec2::253", 53, false},
		"AWS's next prefix":     {"it is anybody's", "fd00:ec3::254", 443, true},
		"Azure's wire server":   {"it tells what the node was set up with", "168.63.129.16", 80, false},
		"beside Azure's":        {"it is anybody's", "168.63.129.17", 443, true},
		"Alibaba's metadata":    {"they are not the run's", "100.100.100.200", 80, false},
		"beside Alibaba's":      {"it is anybody's", "100.100.100.201", 443, true},
		"Google over IPv6":      {"they are not the run's", "fd20:ce::254", 80, false},
		"the link over IPv6":    {"nothing of a run's is there", "fe80::1", 80, false},
		"the link":              {"nothing of a run's is there", "169.254.1.1", 443, false},
		"a DNS cache":           {"NodeLocal DNSCache is there", "169.254.20.10", 53, true},
		"its other ports":       {"only DNS is needed", "169.254.20.10", 8080, false},
	}
	for name, tc := range cases {
		if got := allowed(network, netip.MustParseAddr(tc.address), tc.port); got != tc.allowed {
			t.Errorf("%s (%s port %d) may be reached: %t, want %t: %s", name, tc.address, tc.port, got, tc.allowed, tc.reason)
		}
	}
}

// allowed is what the addresses of a NetworkPolicy come to.
func allowed(policy networkingv1.NetworkPolicy, address netip.Addr, port int) bool {
	return slices.ContainsFunc(policy.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
		open := len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntValue() == port })
		return open && slices.ContainsFunc(rule.To, func(peer networkingv1.NetworkPolicyPeer) bool {
			return peer.IPBlock != nil && netip.MustParsePrefix(peer.IPBlock.CIDR).Contains(address) &&
				!slices.ContainsFunc(peer.IPBlock.Except, func(except string) bool { return netip.MustParsePrefix(except).Contains(address) })
		})
	})
}

// TestDrainWaits evicts the pod of a run, as a drain of its node does.
func TestDrainWaits(t *testing.T) {
	t.Parallel()
	if out, err := env.Kubectl(t.Context(), "apply", "--server-side", "-f", filepath.Join(env.Root, "deploy", "build", "disruption.yaml")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := newSite(t, "drained")
	s.begin()
	s.setPod(func(p *corev1.PodStatus) {
		p.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
	pod := s.pod()
	evict := func() error {
		return env.Client.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}},
			&client.SubResourceCreateOptions{CreateOptions: client.CreateOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	testenv.Eventually(t, func() error {
		var budget policyv1.PodDisruptionBudget
		if err := env.Client.Get(t.Context(), types.NamespacedName{Namespace: v1alpha1.Namespace, Name: "infrared-build"}, &budget); err != nil {
			return err
		}
		for _, cond := range budget.Status.Conditions {
			if cond.Type == policyv1.DisruptionAllowedCondition && cond.Reason == policyv1.InsufficientPodsReason {
				return nil
			}
		}
		return errStillCounting
	})
	if err := evict(); !apierrors.IsTooManyRequests(err) {
		t.Errorf("a drain takes a run off its node: %v", err)
	}
}

type textError string

func (e textError) Error() string { return string(e) }

const errStillCounting = textError("the budget is not worked out yet")

// TestRightsOfARun is what the ServiceAccount of a run may do.
func TestRightsOfARun(t *testing.T) {
	t.Parallel()
	s := newSite(t, "rights")
	other := newSite(t, "rights-other")
	s.begin()
	other.begin()
	first := s.turn.Run.Record
	s.end(run.Outcome{Digest: digestA})
	s.until(s.over)
	s.change(again)
	s.begin()
	n, foreign := s.names(), other.names()
	cases := map[string]struct {
		reason, group, resource, name string
		verbs                         []string
	}{
		"state":           {"OpenTofu reads and writes it", "", "secrets", n.State(), words("get", "update")},
		"part":            {"a large state is there", "", "secrets", n.AllParts()[3], words("get", "update")},
		"plan":            {"it is kept for the apply", "", "secrets", n.Plan(), words("get", "update")},
		"lock":            {"one run at a time", "coordination.k8s.io", "leases", n.Lease(), words("get", "update")},
		"ledger":          {"what was made is there", "", "configmaps", n.Ledger(), words("get", "update")},
		"record":          {"order and outcome are there", "", "configmaps", s.turn.Run.Record, words("get", "update")},
		"record before":   {"it is done", "", "configmaps", first, nil},
		"all secrets":     {"a list shows every kubeconfig", "", "secrets", "", nil},
		"credentials":     {"the pod has them as files", "", "secrets", v1alpha1.CredentialsSecretName(s.name), nil},
		"other's state":   {"it is another cluster's", "", "secrets", foreign.State(), nil},
		"other's ledger":  {"it is another cluster's", "", "configmaps", foreign.Ledger(), nil},
		"operator's lock": {"it says who leads", "coordination.k8s.io", "leases", "infrared-operator", nil},
		"jobs":            {"a run starts none", "batch", "jobs", "", nil},
	}
	user := "system:serviceaccount:infrared:" + n.Account()
	for name, tc := range cases {
		for _, verb := range words("get", "list", "watch", "create", "update", "patch", "delete") {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: v1alpha1.Namespace, Verb: verb, Group: tc.group, Resource: tc.resource, Name: tc.name,
				},
			}}
			if err := env.Client.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(tc.verbs, verb); review.Status.Allowed != want {
				t.Errorf("%s of %s: %t, want %t: %s", verb, name, review.Status.Allowed, want, tc.reason)
			}
		}
	}
}

// TestStateIsGuarded has others than the operator take the finalizer and labels off a state.
func TestStateIsGuarded(t *testing.T) {
	t.Parallel()
	s := newSite(t, "guarded")
	s.begin()
	conf := rest.CopyConfig(env.Admin)
	conf.Impersonate = rest.ImpersonationConfig{UserName: "ann", Groups: []string{"system:masters"}}
	ann, err := client.New(conf, client.Options{Scheme: env.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		change func(*corev1.Secret)
		says   string
	}{
		"finalizer": {"what still costs money would be lost", func(s *corev1.Secret) { s.Finalizers = nil }, "infrared.darkshift.io/state stays until"},
		"label":     {"it would be nobody's", func(s *corev1.Secret) { delete(s.Labels, v1alpha1.LabelIncarnation) }, "infrared-cluster-uid"},
		"kind":      {"it would be taken for a credential", func(s *corev1.Secret) { delete(s.Labels, v1alpha1.LabelBuild) }, "infrared.darkshift.io/build"},
		"content":   {"OpenTofu itself writes it", func(s *corev1.Secret) { s.Data = map[string][]byte{"tfstate": []byte("x")} }, ""},
	}
	for name, tc := range cases {
		var state corev1.Secret
		if !exists(t, &state, s.names().State()) {
			t.Fatal("the state is not there")
		}
		tc.change(&state)
		err := ann.Update(t.Context(), &state, client.DryRunAll)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v, want %q: %s", name, err, tc.says, tc.reason)
		}
	}
	var lease coordinationv1.Lease
	if !exists(t, &lease, s.names().Lease()) || len(lease.OwnerReferences) > 0 {
		t.Errorf("the lock goes with the Cluster: %+v", lease.OwnerReferences)
	}
}
