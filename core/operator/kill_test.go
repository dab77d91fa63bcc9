// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/hack/killproxy"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
)

// TestKilledAtEveryWrite registers a cluster and lets it go, once for each write of that and each side of it, with the operator
// killed there and started again.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	proxy := newProxy(t, w)
	life := newLife(t, w)
	life.command = operatorCommand(t, proxyKubeconfig(t, w, proxy), "--leader-elect=false", "--metrics-bind-address=0")
	report := killproxy.Run(t, killproxy.Scenario{
		Proxy:   proxy,
		Command: life.next,
		Prepare: life.prepare,
		Job:     life.job,
		End:     life.end,
		Timeout: testenv.Patience,
	})
	if diff := cmp.Diff(goodEnd, strings.Split(report.End, "\n")); diff != "" {
		t.Errorf("a life without a kill (-want +got):\n%s", diff)
	}
}

// goodEnd is how every life ends.
var goodEnd = []string{
	"left: nothing",
	"record: not forced, 0 left, Disconnect Done, Destroy Skipped",
	"order: kubeconfig goes after Disconnect began, Disconnect was Running then Done",
	"asked of the cluster: GET",
	"bystander: untouched",
}

// newProxy stands before the world's API server.
func newProxy(t testing.TB, w *world) *killproxy.Proxy {
	t.Helper()
	proxy, err := killproxy.New(killproxy.Options{Upstream: w.Admin.Host, CA: w.Admin.CAData})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	return proxy
}

// proxyKubeconfig writes the operator's kubeconfig for the proxy to a file.
func proxyKubeconfig(t testing.TB, w *world, proxy *killproxy.Proxy) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "operator.kubeconfig")
	if err := os.WriteFile(path, proxy.Kubeconfig(w.Operator.BearerToken), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// life is the whole life of a Cluster, run after run, beside a bystander that is registered all the time and must not be touched.
type life struct {
	w         *world
	command   func() *exec.Cmd
	bystander *testcluster.Server

	wc   *testcluster.Server
	seen *witness

	mu sync.Mutex
	// asked is how often the bystander had been asked when the newest operator started.
	asked int
	// before is the state of the bystander once it was registered.
	before map[string]string
}

const bystander = "bystander"

func newLife(t testing.TB, w *world) *life {
	t.Helper()
	wc, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wc.Close)
	return &life{w: w, bystander: wc}
}

// next is the command of the next process.
func (l *life) next() *exec.Cmd {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = l.bystander.RequestCount()
	return l.command()
}

func (l *life) prepare(ctx context.Context, run int) (err error) {
	if err := l.w.begin(ctx, bystander, l.bystander); err != nil {
		return err
	}
	if l.wc, err = l.w.start(); err != nil {
		return err
	}
	l.seen, err = l.w.watch(ctx, clusterOf(run))
	return err
}

func clusterOf(run int) string { return fmt.Sprintf("kill-%d", run) }

func (l *life) job(ctx context.Context, run int) error {
	if err := l.w.register(ctx, bystander, l.bystander); err != nil {
		return err
	}
	now, err := l.bystanderState(ctx)
	if err != nil {
		return err
	}
	if l.before == nil {
		l.before = now
	}
	if err := l.w.register(ctx, clusterOf(run), l.wc); err != nil {
		return err
	}
	return l.w.letGo(ctx, clusterOf(run))
}

func (l *life) end(ctx context.Context, run int) (string, error) {
	defer l.wc.Close()
	// A process looks at every cluster as soon as it has its caches, and writes nothing where nothing changed.
	err := testenv.Poll(ctx, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.bystander.RequestCount() == l.asked {
			return errors.New("the operator that was started last has not looked at its clusters yet")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	left, err := l.left(ctx, clusterOf(run))
	if err != nil {
		return "", err
	}
	record, err := l.record(ctx, clusterOf(run))
	if err != nil {
		return "", err
	}
	state, err := l.bystanderState(ctx)
	if err != nil {
		return "", err
	}
	untouched := "untouched"
	if !maps.Equal(l.before, state) {
		untouched = fmt.Sprintf("was %v, is %v", l.before, state)
	}
	return strings.Join([]string{
		"left: " + left, "record: " + record, "order: " + l.seen.verdict(), "asked of the cluster: " + methods(l.wc), "bystander: " + untouched,
	}, "\n"), nil
}

// left lists what is there of a Cluster that went, by name or by label.
func (l *life) left(ctx context.Context, name string) (string, error) {
	var found []string
	var clusters v1alpha1.ClusterList
	if err := l.w.Client.List(ctx, &clusters, named(name)); err != nil {
		return "", err
	}
	for range clusters.Items {
		found = append(found, "the Cluster")
	}
	var secrets corev1.SecretList
	if err := l.w.Client.List(ctx, &secrets); err != nil {
		return "", err
	}
	for _, s := range secrets.Items {
		if s.Name == name+"-kubeconfig" || s.Name == v1alpha1.ArgoSecretName(name) || s.Labels[v1alpha1.LabelCluster] == name {
			found = append(found, "Secret "+s.Namespace+"/"+s.Name)
		}
	}
	var claims corev1.ConfigMapList
	if err := l.w.Client.List(ctx, &claims, client.MatchingLabels{v1alpha1.LabelCluster: name}); err != nil {
		return "", err
	}
	for _, c := range claims.Items {
		found = append(found, "claim of "+c.Data["kind"])
	}
	if len(found) == 0 {
		return "nothing", nil
	}
	return strings.Join(found, ", "), nil
}

// record describes the DeletionRecords of a Cluster.
func (l *life) record(ctx context.Context, name string) (string, error) {
	var all v1alpha1.DeletionRecordList
	if err := l.w.Client.List(ctx, &all, client.MatchingLabels{v1alpha1.LabelCluster: name}); err != nil {
		return "", err
	}
	var texts []string
	for _, r := range all.Items {
		forced := "not forced"
		if r.Spec.Forced != "" {
			forced = "forced: " + r.Spec.Forced
		}
		text := fmt.Sprintf("%s, %d left", forced, r.Spec.LeftCount)
		for _, step := range r.Spec.Steps {
			text += fmt.Sprintf(", %s %s", step.Name, step.State)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " and "), nil
}

// bystanderState is the version of each object of the bystander.
func (l *life) bystanderState(ctx context.Context) (map[string]string, error) {
	all, err := l.w.versions(ctx)
	maps.DeleteFunc(all, func(name, _ string) bool {
		return !strings.Contains(name, bystander) || strings.Contains(name, "EventList")
	})
	return all, err
}

// methods are the HTTP methods of the requests that a cluster got.
func methods(wc *testcluster.Server) string {
	seen := map[string]bool{}
	for _, r := range wc.Requests() {
		seen[r.Method] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

// patience bounds one life whose operator or API server is killed in a test that runs only one.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
