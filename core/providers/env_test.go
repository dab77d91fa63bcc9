// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/core/providers"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/provider"
)

var env *testenv.Env

func TestMain(m *testing.M) { os.Exit(testenv.Main(m, &env)) }

// fakeHost has no processes: a test says how each plugin is.
type fakeHost struct {
	specs  map[string]pluginhost.Spec
	states map[string]pluginhost.State
}

func newFakeHost() *fakeHost {
	return &fakeHost{specs: map[string]pluginhost.Spec{}, states: map[string]pluginhost.State{}}
}

func (h *fakeHost) Ensure(name string, spec pluginhost.Spec) {
	if h.specs[name] != spec {
		h.specs[name], h.states[name] = spec, pluginhost.State{Reason: "Starting", Message: "it is being started"}
	}
}

func (h *fakeHost) Remove(name string) {
	delete(h.specs, name)
	delete(h.states, name)
}

func (h *fakeHost) State(name string) (pluginhost.State, bool) {
	state, ok := h.states[name]
	return state, ok
}

func (h *fakeHost) Provider(name, cloud string) provider.Provider {
	return named{name: name, cloud: cloud}
}

// named is the plugin of a name, taken for that of a cloud.
type named struct {
	provider.Provider
	name, cloud string
}

// answers has a plugin run and tell that it is for a cloud.
func (h *fakeHost) answers(name, cloud string, pid int) {
	h.states[name] = pluginhost.State{
		Reason: "Healthy", Message: "it runs and answers", Healthy: true, PID: pid, Protocol: 1,
		Restarts: h.states[name].Restarts,
		Description: provider.Description{Facts: provider.Facts{
			Name: cloud, Version: "v0.14.0", NodePrefixes: []string{cloud + "-nodes://"},
		}},
	}
}

func (h *fakeHost) running() []string { return slices.Sorted(maps.Keys(h.specs)) }

// splitClient writes as the operator, and reads as it does from its cache: for that, the right to get is not needed.
type splitClient struct {
	client.Client
	reader client.Reader
}

func (c splitClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return c.reader.Get(ctx, key, obj, opts...)
}

func (c splitClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.reader.List(ctx, list, opts...)
}

// staleClient is a cache that is behind.
type staleClient struct {
	client.Client
	old *v1alpha1.Provider
}

func (c staleClient) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	c.old.DeepCopyInto(obj.(*v1alpha1.Provider))
	return nil
}

const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// bench is a reconciler that a test turns by hand. Its client has no cache and its user is the operator's.
type bench struct {
	*testing.T
	host       *fakeHost
	reconciler *providers.Reconciler
	registry   *providers.Registry
}

// newBench is what a start of the operator makes.
func newBench(t *testing.T) *bench {
	t.Helper()
	operator, err := client.New(env.Operator, client.Options{Scheme: env.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	c := splitClient{Client: operator, reader: env.Client}
	host := newFakeHost()
	return &bench{
		T: t, host: host,
		reconciler: &providers.Reconciler{Client: c, Live: env.Client, Events: events.NewFakeRecorder(100), Host: host},
		registry:   &providers.Registry{Reader: env.Client, Host: host},
	}
}

// turn reconciles a Provider once, and returns what is there afterwards.
func (b *bench) turn(name string) *v1alpha1.Provider {
	b.Helper()
	result, err := b.reconciler.Reconcile(b.Context(), requestFor(name))
	if err != nil || result.RequeueAfter != 0 {
		b.Fatalf("reconciling %s: %v, requeue after %v", name, err, result.RequeueAfter)
	}
	return b.get(name)
}

func requestFor(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// get is nil where there is no Provider of that name.
func (b *bench) get(name string) *v1alpha1.Provider {
	b.Helper()
	var p v1alpha1.Provider
	if err := env.Client.Get(b.Context(), types.NamespacedName{Name: name}, &p); err != nil {
		if client.IgnoreNotFound(err) != nil {
			b.Fatal(err)
		}
		return nil
	}
	return &p
}

// apply makes a Provider.
func (b *bench) apply(name string) {
	b.Helper()
	p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ProviderSpec{Binary: name, SHA256: sum}}
	if err := env.Client.Create(b.Context(), p); err != nil {
		b.Fatal(err)
	}
}

// remove asks for a Provider's deletion.
func (b *bench) remove(name string) {
	b.Helper()
	if err := env.Client.Delete(b.Context(), &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		b.Fatal(err)
	}
}

// mustBe fails the test where the condition Healthy is another.
func (b *bench) mustBe(p *v1alpha1.Provider, status metav1.ConditionStatus, reason string) {
	b.Helper()
	if p == nil {
		b.Fatal("the Provider is gone")
	}
	c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionHealthy)
	if c == nil || c.Status != status || c.Reason != reason {
		b.Fatalf("%s is %+v, want %s %s", p.Name, c, status, reason)
	}
}
