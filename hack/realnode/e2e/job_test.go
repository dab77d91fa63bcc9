// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/fake/httpcloud"
)

func serve(t *testing.T, handler http.Handler) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// podOf waits for the pod of a run's Job.
func podOf(t *testing.T, job string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	return awaitPod(t, v1alpha1.Namespace, metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + job}, wanted)
}

func began(t build.Turn) bool { return t.Run != nil && t.Run.Job != "" }

func ended(t build.Turn) bool {
	return t.Run != nil && (t.Run.Phase == v1alpha1.RunSucceeded || t.Run.Phase == v1alpha1.RunFailed)
}

// making is a turn in which OpenTofu is in the middle of making something, having made something before.
func making(t build.Turn) bool {
	if t.Run == nil {
		return false
	}
	done := false
	for _, e := range t.Run.Events {
		done = done || e.Kind == "Done"
	}
	return done && t.Run.Phase == v1alpha1.RunRunning
}

// TestRun has a cluster built by the Job that the operator makes, and looks at it from outside while it goes.
func TestRun(t *testing.T) {
	b := newBuilder(t, "real", map[string]v1alpha1.VariableValue{"delay": "3s", "control_plane": "edge"})
	first := b.until(t, "begun", began).Run.Job
	pod := podOf(t, first, running)

	t.Run("init container", func(t *testing.T) {
		state := pod.Status.InitContainerStatuses[0].State.Terminated
		if state == nil || state.ExitCode != 0 {
			t.Fatalf("the init container is %+v", pod.Status.InitContainerStatuses[0].State)
		}
	})
	t.Run("confined", func(t *testing.T) { checkConfined(t, pod) })
	turn := b.until(t, "ended", ended)
	t.Run("result", func(t *testing.T) {
		if turn.Run.Phase != v1alpha1.RunSucceeded {
			b.explain(t)
			t.Fatalf("the run is %s: %s: %s", turn.Run.Phase, turn.Run.Reason, turn.Run.Message)
		}
		state := podOf(t, first, terminated).Status.ContainerStatuses[0].State.Terminated
		if state.ExitCode != 0 {
			t.Errorf("the container ended with %d", state.ExitCode)
		}
		out, err := shared.kubectl(t.Context(), "-n", v1alpha1.Namespace, "logs", "job/"+first)
		if err != nil || !strings.Contains(out, "Apply complete!") {
			t.Errorf("kubectl logs gave error %v, and %q, in which OpenTofu says nothing of an apply", err, out)
		}
		if strings.Contains(out, cloudToken) {
			t.Error("the log holds the cloud's token")
		}
	})
}

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

// TestTerminated has the pod of a first apply deleted while OpenTofu makes things: what was made by then is in the state, the lock is
// free, and the next run makes the rest.
func TestTerminated(t *testing.T) {
	b := newBuilder(t, "cut", map[string]v1alpha1.VariableValue{"delay": "4s", "control_plane": "edge"})
	job := b.until(t, "in the middle of an apply", making).Run.Job
	pod := podOf(t, job, running)
	if out, err := shared.kubectl(t.Context(), "-n", v1alpha1.Namespace, "delete", "pod", pod.Name, "--wait=false"); err != nil {
		t.Fatalf("deleting the pod: %v: %s", err, out)
	}
	state := podOf(t, job, terminated).Status.ContainerStatuses[0].State.Terminated
	if state.ExitCode != 1 {
		t.Errorf("the container ended with %d, wanted the 1 of a run that says how it ended", state.ExitCode)
	}
	turn := b.until(t, "ended", ended)
	if turn.Run.Reason != v1alpha1.ReasonInterrupted {
		b.explain(t)
		t.Errorf("the run ended as %s (%s), wanted %s", turn.Run.Reason, turn.Run.Message, v1alpha1.ReasonInterrupted)
	}
	b.checkUnlocked(t)
	made := b.things(t)
	suffix := run.NamesOf(b.cluster.Name, b.incarnation).Suffix
	if state := b.state(t); len(made) == 0 || !slices.Contains(state, "put_network") {
		t.Errorf("the run made %v and left a state with %v", made, state)
	}
	b.change(t, func(p *v1alpha1.Provision) { p.Run = 2 })
	turn = b.until(t, "made again", func(turn build.Turn) bool { return ended(turn) && turn.Run.Job != job })
	if turn.Run.Phase != v1alpha1.RunSucceeded || len(turn.Run.LeftBehind) > 0 {
		b.explain(t)
		t.Errorf("the run that goes on is %s (%s: %s) and left %v behind", turn.Run.Phase, turn.Run.Reason, turn.Run.Message, turn.Run.LeftBehind)
	}
	if diff := cmp.Diff([]string{"cluster/" + suffix, "network/" + suffix, "node-group/" + suffix}, b.things(t)); diff != "" {
		t.Errorf("what is in the cloud at last (-want +got):\n%s", diff)
	}
}

// things are the IDs of what is in the cloud, in order.
func (b *builder) things(t *testing.T) []string {
	t.Helper()
	var ids []string
	for _, kind := range []string{httpcloud.KindCluster, httpcloud.KindNetwork, httpcloud.KindNodeGroup} {
		things, err := b.cloud.List(t.Context(), kind, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, thing := range things {
			ids = append(ids, thing.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// state are the names of what OpenTofu's state holds.
func (b *builder) state(t *testing.T) []string {
	t.Helper()
	var secret corev1.Secret
	name := run.NamesOf(b.cluster.Name, b.incarnation).State()
	if err := b.Client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace, Name: name}, &secret); err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(secret.Data["tfstate"]))
	if err != nil {
		t.Fatalf("Secret %s holds no state: %v", name, err)
	}
	var state struct {
		Resources []struct {
			Name string `json:"name"`
		} `json:"resources"`
	}
	if err := json.NewDecoder(zip).Decode(&state); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range state.Resources {
		names = append(names, r.Name)
	}
	return names
}

// checkUnlocked looks at OpenTofu's lock.
func (b *builder) checkUnlocked(t *testing.T) {
	t.Helper()
	var lease coordinationv1.Lease
	name := run.NamesOf(b.cluster.Name, b.incarnation).Lease()
	if err := b.Client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace, Name: name}, &lease); err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the run that was terminated holds the lock as %q", *holder)
	}
}
