// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
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
	t.Parallel()
	b := newBuilder(t, "real", map[string]v1alpha1.VariableValue{"control_plane": "edge"})
	first := b.until(t, "begun", began).Run.Job
	pod := podOf(t, first, running)

	t.Run("init container", func(t *testing.T) {
		state := pod.Status.InitContainerStatuses[0].State.Terminated
		if state == nil || state.ExitCode != 0 {
			t.Fatalf("the init container is %+v", pod.Status.InitContainerStatuses[0].State)
		}
	})
	resume := pause(t, pod)
	t.Run("confined", func(t *testing.T) { checkConfined(t, pod) })
	t.Run("rights", func(t *testing.T) { b.checkRights(t, pod) })
	t.Run("not evicted", func(t *testing.T) { checkNotEvicted(t, pod) })
	resume()
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

// TestInterrupted ends a first apply while OpenTofu makes things, in the two ways there are on a node. The next run makes the rest, and
// nothing is made twice or forgotten.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		end     func(t *testing.T, pod *corev1.Pod)
		code    int32
		ordered bool
	}{
		"deleted": {
			reason: "SIGTERM reaches infrared-build, which has OpenTofu write its state and let go of the lock",
			end: func(t *testing.T, pod *corev1.Pod) {
				if out, err := shared.kubectl(t.Context(), "-n", pod.Namespace, "delete", "pod", pod.Name, "--wait=false"); err != nil {
					t.Fatalf("deleting the pod: %v: %s", err, out)
				}
			},
			code: 1, ordered: true,
		},
		"killed": {
			reason: "with process 1 the kernel kills OpenTofu too, at once: what it had made is in the ledger alone",
			end: func(t *testing.T, pod *corev1.Pod) {
				if err := syscall.Kill(initOf(t, pod), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			},
			code: 137,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBuilder(t, name, map[string]v1alpha1.VariableValue{"delay": "4s", "control_plane": "edge"})
			job := b.until(t, "in the middle of an apply", making).Run.Job
			c.end(t, podOf(t, job, running))
			state := podOf(t, job, terminated).Status.ContainerStatuses[0].State.Terminated
			if state.ExitCode != c.code {
				t.Errorf("%s: the container ended with %d, wanted %d", c.reason, state.ExitCode, c.code)
			}
			turn := b.until(t, "ended", ended)
			if turn.Run.Reason != v1alpha1.ReasonInterrupted {
				b.explain(t)
				t.Errorf("%s: the run ended as %s (%s), wanted %s", c.reason, turn.Run.Reason, turn.Run.Message, v1alpha1.ReasonInterrupted)
			}
			if c.ordered {
				b.checkInOrder(t)
			}
			b.checkGoesOn(t, job)
		})
	}
}

// checkInOrder looks at what an apply left that was told to end: no lock, and a state with all that it had made.
func (b *builder) checkInOrder(t *testing.T) {
	t.Helper()
	var lease coordinationv1.Lease
	name := run.NamesOf(b.cluster.Name, b.incarnation).Lease()
	if err := b.Client.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace, Name: name}, &lease); err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the run that was ended holds the lock as %q", *holder)
	}
	if state := b.state(t); !slices.Contains(state, "put_network") {
		t.Errorf("the run had made the network, and left a state with %v", state)
	}
}

// checkGoesOn has the run made again and looks at what is in the cloud then.
func (b *builder) checkGoesOn(t *testing.T, job string) {
	t.Helper()
	b.change(t, func(p *v1alpha1.Provision) { p.Run = 2 })
	turn := b.until(t, "made again", func(turn build.Turn) bool { return ended(turn) && turn.Run.Job != job })
	if turn.Run.Phase != v1alpha1.RunSucceeded || len(turn.Run.LeftBehind) > 0 {
		b.explain(t)
		t.Errorf("the run that goes on is %s (%s: %s) and left %v behind", turn.Run.Phase, turn.Run.Reason, turn.Run.Message, turn.Run.LeftBehind)
	}
	suffix := run.NamesOf(b.cluster.Name, b.incarnation).Suffix
	if diff := cmp.Diff([]string{"cluster/" + suffix, "network/" + suffix, "node-group/" + suffix}, b.things(t)); diff != "" {
		t.Errorf("what is in the cloud at last (-want +got):\n%s", diff)
	}
}

// TestDoesNotStart has runs made that a node can't start, and sees that the operator says why, by the words of a real kubelet.
func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spoil  func(*builder)
		want   string
	}{
		"init container": {
			reason: "the image may be of another version than the operator",
			spoil:  func(b *builder) { b.Templates = absent(b.Templates.(templates)) },
			want:   "The pod's step install failed with exit code 1",
		},
		"image": {
			reason: "nobody looks at the pod before the run's status",
			spoil:  func(b *builder) { b.TofuImage = "infrared-no-such-image:dev" },
			want:   "The image infrared-no-such-image:dev of container tofu can't be had",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBuilder(t, "no-"+strings.ReplaceAll(name, " ", "-"), nil)
			c.spoil(b)
			b.until(t, "said to be without "+name, func(turn build.Turn) bool { return turn.Run != nil && strings.Contains(turn.Run.Message, c.want) })
		})
	}
}

// absent names a plugin that is in no image.
func absent(t templates) templates {
	t.found.Binary = "absent"
	return t
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
