// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

const (
	pluginName = "fake"
	template   = "fake/cluster"
	cloudToken = "a token of the cloud that only this test uses" //nolint:gosec // it opens nothing but the test's own cloud
)

// builder makes the runs of one Cluster, just as the operator does: by core/build, whenever something happens.
type builder struct {
	build.Builder
	cluster     client.ObjectKey
	incarnation string
	cloud       httpcloud.Client
	last        build.Turn
	events      chan struct{}
}

// templates is the one plugin of the tests.
type templates struct{ found build.Found }

func (t templates) Template(_ context.Context, cloud, module string) (build.Found, error) {
	if cloud != pluginName || module != template {
		return build.Found{}, fmt.Errorf("the test has no template %s", module)
	}
	return t.found, nil
}

// newBuilder makes a Cluster that nobody has built yet, its cloud and the cloud's credentials.
func newBuilder(t *testing.T, name string, variables map[string]v1alpha1.VariableValue) *builder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(shared.admin, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	found, err := findPlugin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{
		Builder: build.Builder{
			Client: api, Live: api, Clock: clock.RealClock{}, Templates: templates{found}, BuildImage: buildImage, TofuImage: tofuImage,
		},
		cluster: client.ObjectKey{Name: name}, cloud: startCloud(t), events: make(chan struct{}, 1),
	}
	b.make(t, found.Facts.Version, variables)
	b.watch(t)
	return b
}

func (b *builder) make(t *testing.T, version string, variables map[string]v1alpha1.VariableValue) {
	t.Helper()
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: b.cluster.Name},
		Spec: v1alpha1.ClusterSpec{
			Type: v1alpha1.Workload, Provider: pluginName,
			Template:  &v1alpha1.Template{Module: template, Version: version},
			Provision: &v1alpha1.Provision{Action: v1alpha1.ActionApply, Variables: variables},
		},
	}
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(b.cluster.Name)},
		StringData: map[string]string{"FAKE_ENDPOINT": b.cloud.Endpoint, "FAKE_TOKEN": b.cloud.Token},
	}
	for _, object := range []client.Object{credentials, cluster} {
		if err := b.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	b.incarnation = string(cluster.UID)
	cluster.Spec.Incarnation = b.incarnation
	if err := b.Client.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
}

// watch has events tell of everything that happens to a run.
func (b *builder) watch(t *testing.T) {
	t.Helper()
	core := shared.client.CoreV1()
	for _, begin := range []func(context.Context, metav1.ListOptions) (watch.Interface, error){
		shared.client.BatchV1().Jobs(v1alpha1.Namespace).Watch, core.Pods(v1alpha1.Namespace).Watch, core.ConfigMaps(v1alpha1.Namespace).Watch,
	} {
		w, err := begin(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		go func() {
			for range w.ResultChan() {
				select {
				case b.events <- struct{}{}:
				default:
				}
			}
		}()
	}
}

// until has the builder advance at each event until a turn is as wanted.
func (b *builder) until(t *testing.T, what string, wanted func(build.Turn) bool) build.Turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		var cluster v1alpha1.Cluster
		if err := b.Client.Get(ctx, b.cluster, &cluster); err != nil {
			t.Fatal(err)
		}
		cluster.Status.Run, cluster.Status.Plan, cluster.Status.Built = b.last.Run, b.last.Plan, b.last.Built
		turn, err := b.Advance(ctx, &cluster)
		if err != nil {
			t.Fatal(err)
		}
		b.last = turn
		if wanted(turn) {
			return turn
		}
		after := time.NewTimer(time.Hour)
		if turn.After > 0 {
			after.Reset(turn.After)
		}
		select {
		case <-b.events:
		case <-after.C:
		case <-ctx.Done():
			b.explain(t)
			t.Fatalf("the run is not %s", what)
		}
		after.Stop()
	}
}

// explain prints what is known of the run.
func (b *builder) explain(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	status, err := json.MarshalIndent(b.last.Run, "", "  ")
	t.Logf("the run's status (error %v):\n%s", err, status)
	if b.last.Run == nil || b.last.Run.Job == "" {
		return
	}
	for _, args := range [][]string{
		{"logs", "job/" + b.last.Run.Job, "--all-containers"}, {"get", "pods", "-o", "wide"}, {"get", "events", "--sort-by=.lastTimestamp"},
	} {
		out, err := shared.kubectl(ctx, append([]string{"-n", v1alpha1.Namespace}, args...)...)
		t.Logf("kubectl %s (error %v):\n%s", args[0], err, out)
	}
}

// change changes the Cluster's spec.provision.
func (b *builder) change(t *testing.T, how func(*v1alpha1.Provision)) {
	t.Helper()
	var cluster v1alpha1.Cluster
	if err := b.Client.Get(t.Context(), b.cluster, &cluster); err != nil {
		t.Fatal(err)
	}
	how(cluster.Spec.Provision)
	if err := b.Client.Update(t.Context(), &cluster); err != nil {
		t.Fatal(err)
	}
}

// findPlugin reads the facts that the plugin's program tells of itself.
func findPlugin(ctx context.Context) (build.Found, error) {
	path := shared.program("plugins/" + pluginName)
	data, err := os.ReadFile(path)
	if err != nil {
		return build.Found{}, fmt.Errorf("%w: run make build", err)
	}
	out, err := exec.CommandContext(ctx, path, "describe").Output()
	if err != nil {
		return build.Found{}, fmt.Errorf("asking the plugin for its facts: %w", err)
	}
	var description struct {
		Facts provider.Facts `json:"facts"`
	}
	if err := json.Unmarshal(out, &description); err != nil {
		return build.Found{}, fmt.Errorf("reading the plugin's facts: %w", err)
	}
	found := build.Found{Provider: pluginName, Binary: pluginName, SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Facts: description.Facts, Healthy: true}
	for i := range found.Facts.Templates {
		if found.Facts.Templates[i].Name == template {
			found.Template = &found.Facts.Templates[i]
		}
	}
	return found, nil
}

// startCloud runs the cloud that the plugin builds in, in this process.
func startCloud(t *testing.T) httpcloud.Client {
	t.Helper()
	cloud, err := httpcloud.New(httpcloud.Options{
		Folder: filepath.Join(t.TempDir(), "cloud"), Kubeconfigs: map[string]string{"edge": shared.plane.Kubeconfig()},
		Tokens: map[string]httpcloud.Token{cloudToken: {Name: "test"}}, AdminToken: cloudToken,
	})
	if err != nil {
		t.Fatal(err)
	}
	return httpcloud.Client{Endpoint: serve(t, cloud), Token: cloudToken}
}
