// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
)

// TestLife is a Provider from its first sight to its end, over a restart of the operator.
func TestLife(t *testing.T) {
	b := newBench(t)
	b.apply("eks")
	p := b.turn("eks")
	b.mustBe(p, metav1.ConditionUnknown, "Starting")
	if diff := cmp.Diff([]string{v1alpha1.FinalizerPlugin}, p.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(pluginhost.Spec{Binary: "eks", SHA256: sum}, b.host.specs["eks"]); diff != "" {
		t.Errorf("what the host runs (-want +got):\n%s", diff)
	}

	b.host.answers("eks", "aws", 7)
	healthy := b.turn("eks")
	b.mustBe(healthy, metav1.ConditionTrue, "Healthy")
	if healthy.Status.Provider != "aws" || healthy.Status.PID != 7 || healthy.Status.Protocol != 1 {
		t.Errorf("status: %+v", healthy.Status)
	}
	if again := b.turn("eks"); again.ResourceVersion != healthy.ResourceVersion {
		t.Errorf("nothing changed, and something was written: %s", cmp.Diff(healthy, again))
	}

	b.host.states["eks"] = pluginhost.State{Reason: "Crashed", Message: "it was killed by signal 9", Restarts: 2}
	crashed := b.turn("eks")
	b.mustBe(crashed, metav1.ConditionFalse, "Crashed")
	if crashed.Status.Provider != "aws" || crashed.Status.PID != 0 || crashed.Status.Restarts != 2 {
		t.Errorf("the cloud stays known, the process is gone: %+v", crashed.Status)
	}

	b = newBench(t) // the operator was restarted
	if again := b.turn("eks"); again.ResourceVersion != crashed.ResourceVersion {
		t.Errorf("that it is started again by another operator is no news: %s", cmp.Diff(crashed, again))
	}
	b.host.answers("eks", "aws", 8)
	b.turn("eks")
	b.host.states["eks"] = pluginhost.State{Reason: "Crashed", Message: "it ended", Restarts: 1}
	if got := b.turn("eks").Status.Restarts; got != 3 {
		t.Errorf("%d restarts, want 3: they go on over a restart of the operator", got)
	}

	b.remove("eks")
	if p := b.turn("eks"); p != nil {
		t.Errorf("nobody uses it, and it is still there: %+v", p)
	}
	if got := b.host.running(); len(got) > 0 {
		t.Errorf("still running: %v", got)
	}
	b.host.Ensure("eks", pluginhost.Spec{})
	b.turn("eks")
	if got := b.host.running(); len(got) > 0 {
		t.Errorf("a Provider that is gone still runs: %v", got)
	}
}

// TestNameTaken is that of two Providers for one cloud the older one has it, and the other one waits.
func TestNameTaken(t *testing.T) {
	b := newBench(t)
	b.apply("lke")
	// Creation has seconds, and names decide among equals: so this one is younger either way.
	b.apply("lke-2")
	b.turn("lke")
	b.turn("lke-2")
	b.host.answers("lke-2", "linode", 2)
	b.mustBe(b.turn("lke-2"), metav1.ConditionTrue, "Healthy")
	b.host.answers("lke", "linode", 1)
	b.mustBe(b.turn("lke"), metav1.ConditionTrue, "Healthy")

	taken := b.turn("lke-2")
	b.mustBe(taken, metav1.ConditionFalse, "NameTaken")
	message := meta.FindStatusCondition(taken.Status.Conditions, v1alpha1.ConditionHealthy).Message
	if !strings.Contains(message, "Provider lke is for linode, too") {
		t.Errorf("the message does not name the other: %s", message)
	}
	if diff := cmp.Diff([]string{"lke"}, b.host.running()); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	if again := b.turn("lke-2"); again.ResourceVersion != taken.ResourceVersion {
		t.Errorf("nothing changed, and something was written: %s", cmp.Diff(taken, again))
	}
	if name, _, err := b.registry.For(t.Context(), "linode"); name != "lke" || err != nil {
		t.Errorf("the plugin for linode is %q, want lke's: %v", name, err)
	}

	// Another program may be for another cloud.
	change := client.MergeFrom(taken.DeepCopy())
	taken.Spec.Binary = "gke"
	if err := env.Client.Patch(t.Context(), taken, change); err != nil {
		t.Fatal(err)
	}
	b.mustBe(b.turn("lke-2"), metav1.ConditionUnknown, "Starting")
	b.mustBe(b.turn("lke-2"), metav1.ConditionUnknown, "Starting")
	b.host.answers("lke-2", "linode", 3)
	b.mustBe(b.turn("lke-2"), metav1.ConditionFalse, "NameTaken")

	b.remove("lke")
	b.turn("lke")
	b.mustBe(b.turn("lke-2"), metav1.ConditionUnknown, "Starting")
	b.host.answers("lke-2", "linode", 4)
	b.mustBe(b.turn("lke-2"), metav1.ConditionTrue, "Healthy")
	b.remove("lke-2")
	b.turn("lke-2")
}

// TestInUse is that a Provider stays while a Cluster uses it, also where the policy against its deletion came too late.
func TestInUse(t *testing.T) {
	b := newBench(t)
	b.apply("toy")
	b.turn("toy")
	b.host.answers("toy", "toy", 5)
	b.turn("toy")
	edge := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge"},
		Spec:       v1alpha1.ClusterSpec{InCluster: true, Provider: "toy"},
	}
	if err := env.Client.Create(t.Context(), edge); err != nil {
		t.Fatal(err)
	}
	// The status does not say yet that it is used, so the policy lets the deletion through.
	b.remove("toy")
	p := b.turn("toy")
	b.mustBe(p, metav1.ConditionTrue, "InUse")
	message := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionHealthy).Message
	if !strings.Contains(message, "edge does") || !strings.Contains(message, "It runs and answers.") {
		t.Errorf("the message says neither who nor how: %s", message)
	}
	want := &v1alpha1.ProviderUse{Count: 1, Clusters: []string{"edge"}}
	if diff := cmp.Diff(want, p.Status.UsedBy); diff != "" {
		t.Errorf("used by (-want +got):\n%s", diff)
	}
	if name, plugin, err := b.registry.For(t.Context(), "toy"); name != "toy" || plugin == nil || err != nil {
		t.Errorf("the Cluster has no plugin any more: %q %v %v", name, plugin, err)
	}
	if diff := cmp.Diff([]string{"toy"}, b.host.running()); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}

	confirmed := client.MergeFrom(edge.DeepCopy())
	edge.Annotations = map[string]string{v1alpha1.AnnotationConfirmDelete: "edge"}
	if err := env.Client.Patch(t.Context(), edge, confirmed); err != nil {
		t.Fatal(err)
	}
	if err := env.Client.Delete(t.Context(), edge); err != nil {
		t.Fatal(err)
	}
	if p := b.turn("toy"); p != nil {
		t.Errorf("nobody uses it any more, and it is still there: %+v", p.Status)
	}
}

// TestConflict is that a stale cache costs a turn and nothing else.
func TestConflict(t *testing.T) {
	b := newBench(t)
	b.apply("stale")
	b.turn("stale")
	old := b.get("stale")
	b.host.answers("stale", "stale", 1)
	b.turn("stale")
	b.host.states["stale"] = pluginhost.State{Reason: "Crashed", Message: "it ended", Restarts: 1}
	b.reconciler.Client = staleClient{Client: b.reconciler.Client, old: old}
	result, err := b.reconciler.Reconcile(t.Context(), requestFor("stale"))
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Second {
		t.Errorf("want another turn soon and no error, got %v %v", result, err)
	}
	if got := b.get("stale").Status.Provider; got != "stale" {
		t.Errorf("what is known of the plugin was overwritten: %q", got)
	}
}

// TestRegistry is which plugin a cloud has, whatever state that is in.
func TestRegistry(t *testing.T) {
	b := newBench(t)
	for _, cloud := range []string{"", "nowhere"} {
		if name, plugin, err := b.registry.For(t.Context(), cloud); name != "" || plugin != nil || err != nil {
			t.Errorf("cloud %q has %q %v %v, want nothing", cloud, name, plugin, err)
		}
	}
	b.apply("reg")
	b.turn("reg")
	b.host.answers("reg", "cloudy", 1)
	b.turn("reg")
	b.host.states["reg"] = pluginhost.State{Reason: "ChecksumMismatch", Message: "it is another file"}
	b.turn("reg")
	name, plugin, err := b.registry.For(t.Context(), "cloudy")
	if diff := cmp.Diff("reg", name); diff != "" || plugin != (named{name: "reg", cloud: "cloudy"}) || err != nil {
		t.Errorf("a plugin that is down is the cloud's all the same: %q %v %v", name, plugin, err)
	}

	b = newBench(t) // the operator was restarted, and a Cluster comes before the Provider
	if _, _, err := b.registry.For(t.Context(), "cloudy"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pluginhost.Spec{Binary: "reg", SHA256: sum}, b.host.specs["reg"]); diff != "" {
		t.Errorf("it is not being started (-want +got):\n%s", diff)
	}
	newer := pluginhost.Spec{Binary: "reg-2", SHA256: sum}
	b.host.Ensure("reg", newer)
	if _, _, err := b.registry.For(t.Context(), "cloudy"); err != nil || b.host.specs["reg"] != newer {
		t.Errorf("what was read from the cache undid a newer program: %v %v", b.host.specs["reg"], err)
	}

	prefixes := b.registry.NodePrefixes(t.Context())
	for prefix, want := range map[string]string{"cloudy-nodes://": "cloudy", "aws://": "aws", "nowhere://": ""} {
		if got := prefixes[prefix]; got != want {
			t.Errorf("%s is %q's, want %q", prefix, got, want)
		}
	}
}
