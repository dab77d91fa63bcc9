// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

// TestTemplate is what a run is told of the plugin that has its template, in whatever state that is.
func TestTemplate(t *testing.T) {
	b := newBench(t)
	template := provider.Template{Name: "tent/cluster", Title: "Tent", Variables: json.RawMessage(`{"type":"object"}`)}
	facts := provider.Facts{Name: "tent", Version: "v0.14.0", Templates: []provider.Template{template}, Kinds: []provider.Kind{{Name: "pole", Title: "Pole"}}}
	b.apply("tent")
	b.turn("tent")
	b.host.answers("tent", "tent", 1)
	b.turn("tent")
	running := b.host.states["tent"]
	running.Description.Facts = facts
	crashed := running
	crashed.Healthy, crashed.Reason, crashed.Message = false, "Crashed", "it ended with exit status 3"
	another := running
	another.Description.Facts.Name = "yurt"
	found := build.Found{Provider: "tent", Binary: "tent", SHA256: sum}
	with := func(change func(*build.Found)) build.Found {
		f := found
		change(&f)
		return f
	}
	for name, tc := range map[string]struct {
		reason        string
		state         pluginhost.State
		cloud, module string
		want          build.Found
	}{
		"no plugin": {"nobody has that cloud", running, "igloo", "igloo/cluster", build.Found{}},
		"good": {"it runs, and has it", running, "tent", "tent/cluster",
			with(func(f *build.Found) { f.Facts, f.Template, f.Healthy = facts, &template, true })},
		"no such template": {"it runs, and has it not", running, "tent", "tent/palace", with(func(f *build.Found) { f.Facts, f.Healthy = facts, true })},
		"down":             {"what it has is known from before", crashed, "tent", "tent/cluster", with(func(f *build.Found) { f.Facts, f.Template, f.Why = facts, &template, crashed.Message })},
		"starting": {"nothing is known of one that was not there since the operator began", pluginhost.State{Reason: "Starting", Message: "it is being started"},
			"tent", "tent/cluster", with(func(f *build.Found) { f.Why = "it is being started" })},
		"another": {"a run's credentials are none of another cloud's business", another, "tent", "tent/cluster",
			with(func(f *build.Found) { f.Why = "its plugin is for yurt by now, and not for tent" })},
	} {
		b.host.states["tent"] = tc.state
		got, err := b.registry.Template(t.Context(), tc.cloud, tc.module)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
	b.host.states["tent"] = running
	if diff := cmp.Diff([]string{"pole"}, b.registry.Kinds("tent")); diff != "" {
		t.Errorf("its kinds (-want +got):\n%s", diff)
	}
	if kinds := b.registry.Kinds("nobody"); kinds != nil {
		t.Errorf("a plugin that isn't there looks for %v", kinds)
	}
	b.remove("tent")
	b.turn("tent")
}

// TestUsedByWhatItBuilds is that a plugin is kept while a Cluster has a template of its, also where that is not built yet.
func TestUsedByWhatItBuilds(t *testing.T) {
	b := newBench(t)
	b.apply("hut")
	b.turn("hut")
	b.host.answers("hut", "hut", 1)
	b.turn("hut")
	c := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "to-build"},
		Spec:       v1alpha1.ClusterSpec{Template: &v1alpha1.Template{Module: "hut/cluster", Version: "v1"}},
	}
	if err := env.Client.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if p := b.turn("hut"); p.Status.UsedBy.Count != 1 {
		t.Errorf("used by %+v, want the Cluster that it is to build", p.Status.UsedBy)
	}
	err := env.Client.Delete(t.Context(), b.get("hut"))
	if err == nil || !strings.Contains(err.Error(), "to-build") {
		t.Errorf("it can be deleted: %v", err)
	}
}
