// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
)

// use makes a Cluster that uses the plugin for a cloud, and returns how to let it go.
func (b *bench) use(name, cloud string) (letGo func()) {
	b.Helper()
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{InCluster: true, Provider: cloud}}
	if err := env.Client.Create(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	return func() {
		confirmed := client.MergeFrom(c.DeepCopy())
		c.Annotations = map[string]string{v1alpha1.AnnotationConfirmDelete: name}
		if err := env.Client.Patch(b.Context(), c, confirmed); err != nil {
			b.Fatal(err)
		}
		if err := env.Client.Delete(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// change changes a Provider as its owner.
func (b *bench) change(name string, how func(*v1alpha1.Provider)) {
	b.Helper()
	p := b.get(name)
	before := client.MergeFrom(p.DeepCopy())
	how(p)
	if err := env.Client.Patch(b.Context(), p, before); err != nil {
		b.Fatal(err)
	}
}

// message is what the condition Healthy says.
func message(p *v1alpha1.Provider) string {
	return meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionHealthy).Message
}

// TestRepointed is that a program for another cloud does not take a Provider away from the Clusters that use it.
func TestRepointed(t *testing.T) {
	b := newBench(t)
	b.apply("folder")
	b.turn("folder")
	b.host.answers("folder", "folder", 1)
	b.turn("folder")
	letGo := b.use("shed", "folder")
	b.turn("folder")

	b.change("folder", func(p *v1alpha1.Provider) { p.Spec.Binary = "garage" })
	b.turn("folder")
	b.host.answers("folder", "garage", 2)
	p := b.turn("folder")
	b.mustBe(p, metav1.ConditionFalse, "ProviderChanged")
	for _, word := range []string{"for provider garage now", "for folder: shed does", "spec.binary"} {
		if !strings.Contains(message(p), word) {
			t.Errorf("%q is not in the message: %s", word, message(p))
		}
	}
	if p.Status.Provider != "folder" || p.Status.UsedBy.Count != 1 {
		t.Errorf("it is for %q, and used by %+v: the Cluster lost its plugin's place", p.Status.Provider, p.Status.UsedBy)
	}
	if err := env.Client.Delete(t.Context(), p); err == nil || !strings.Contains(err.Error(), "is used by Cluster shed") {
		t.Errorf("the Provider can be deleted: %v", err)
	}
	_, plugin, err := b.registry.For(t.Context(), "folder")
	if plugin != (named{name: "folder", cloud: "folder"}) || err != nil {
		t.Errorf("the plugin for folder is %+v, want one that refuses to be another cloud's: %v", plugin, err)
	}
	if _, plugin, err := b.registry.For(t.Context(), "garage"); plugin != nil || err != nil {
		t.Errorf("the plugin for garage is %+v already: %v", plugin, err)
	}

	b.change("folder", func(p *v1alpha1.Provider) { p.Spec.Binary = "folder" })
	b.mustBe(b.turn("folder"), metav1.ConditionUnknown, "Starting")
	b.host.answers("folder", "folder", 3)
	b.mustBe(b.turn("folder"), metav1.ConditionTrue, "Healthy")

	b.change("folder", func(p *v1alpha1.Provider) { p.Spec.Binary = "garage" })
	b.turn("folder")
	b.host.answers("folder", "garage", 4)
	b.mustBe(b.turn("folder"), metav1.ConditionFalse, "ProviderChanged")
	letGo()
	p = b.turn("folder")
	b.mustBe(p, metav1.ConditionTrue, "Healthy")
	if p.Status.Provider != "garage" || p.Status.UsedBy.Count != 0 {
		t.Errorf("nobody keeps it from being garage's, and it is %q's, used by %+v", p.Status.Provider, p.Status.UsedBy)
	}
	b.remove("folder")
	b.turn("folder")
}

// TestStatusLost is that a Provider which was restored without its status stays in use, also while its plugin is down.
func TestStatusLost(t *testing.T) {
	b := newBench(t)
	b.apply("attic")
	b.turn("attic")
	b.host.answers("attic", "attic", 1)
	b.turn("attic")
	letGo := b.use("chest", "attic")
	down := b.host.states["attic"]
	down.Reason, down.Message, down.Healthy, down.PID = "Crashed", "it ended", false, 0
	b.host.states["attic"] = down

	empty := func() {
		t.Helper()
		p := b.get("attic")
		p.Status = v1alpha1.ProviderStatus{}
		if err := env.Client.Status().Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	empty()
	p := b.turn("attic")
	b.mustBe(p, metav1.ConditionFalse, "Crashed")
	if p.Status.Provider != "attic" || p.Status.UsedBy.Count != 1 {
		t.Errorf("what the host knows did not come back: %+v", p.Status)
	}
	empty()
	b.remove("attic") // nothing says that it is used
	p = b.turn("attic")
	b.mustBe(p, metav1.ConditionFalse, "InUse")
	letGo()
	if p := b.turn("attic"); p != nil {
		t.Errorf("nobody uses it any more, and it is still there: %+v", p.Status)
	}
}

// TestKeptByOthers is a Provider that is being deleted, and that somebody else keeps: its plugin has stopped, and that is what it says.
func TestKeptByOthers(t *testing.T) {
	const theirs = "example.com/audit"
	b := newBench(t)
	b.apply("kept")
	b.change("kept", func(p *v1alpha1.Provider) { p.Finalizers = append(p.Finalizers, theirs) })
	b.turn("kept")
	b.host.answers("kept", "kept", 7)
	b.mustBe(b.turn("kept"), metav1.ConditionTrue, "Healthy")
	b.remove("kept")
	b.turn("kept") // takes the operator's finalizer off
	p := b.turn("kept")
	b.mustBe(p, metav1.ConditionFalse, "Stopped")
	if p.Status.PID != 0 || !strings.Contains(message(p), theirs) {
		t.Errorf("process %d runs, or the message does not say who keeps it: %s", p.Status.PID, message(p))
	}
	if _, known := b.host.State("kept"); known {
		t.Error("the plugin runs on")
	}
	if again := b.turn("kept"); again.ResourceVersion != p.ResourceVersion {
		t.Error("nothing changed, and something was written")
	}
	b.change("kept", func(p *v1alpha1.Provider) { p.Finalizers = nil })
	if p := b.turn("kept"); p != nil {
		t.Errorf("it is still there: %+v", p)
	}
	b.host.Ensure("kept", pluginhost.Spec{})
	b.turn("kept")
}
