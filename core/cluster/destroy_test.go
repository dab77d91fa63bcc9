// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
)

// tearing is a look at a destroy.
func tearing(run *v1alpha1.RunStatus) build.Teardown {
	return build.Teardown{Turn: build.Turn{Run: run}}
}

// stateOf is what runs keep of a Cluster: marked as its own, and no credential.
func stateOf(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	c, err := getCluster(name)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "infrared", Name: "tfstate-default-" + v1alpha1.RecordName(name, c.Spec.Incarnation),
			Labels: map[string]string{
				v1alpha1.LabelCluster: name, v1alpha1.LabelIncarnation: c.Spec.Incarnation, v1alpha1.LabelBuild: "state",
			},
		},
		Data: map[string][]byte{"tfstate": []byte("S3CR3T")},
	}
}

// TestDestroy goes through all that a destroy can come to, on one Cluster.
func TestDestroy(t *testing.T) {
	h, _ := withBuilds(t)
	const name = "torn"
	builtCluster(t, h, name)
	state := stateOf(t, name)
	create(t, state)
	changeSecret(t, "infrared", "cluster-torn-credentials", func(s *corev1.Secret) {
		s.Labels = map[string]string{v1alpha1.LabelCluster: name, v1alpha1.LabelIncarnation: state.Labels[v1alpha1.LabelIncarnation]} // as a run leaves it
	})
	h.mu.Lock()
	h.going[name] = true
	h.torn[name] = tearing(ran("apply", "Running", "", ""))
	h.mu.Unlock()
	confirmAndDelete(t, name)
	eventually(t, stepIs(name, "Destroy", v1alpha1.StepRunning, "waited for, and not cut off"), absent("infrared", "cluster-torn-kubeconfig"), absent("argocd", "cluster-torn"))
	if c, err := getCluster(name); err != nil || c.Status.Deletion.Steps[0].Message != "Argo CD has forgotten the cluster, and its kubeconfig is dropped." {
		t.Errorf("nobody is told to withdraw a token on a cluster that is destroyed: %+v %v", c.Status.Deletion, err)
	}
	force(t, name, "Destroy")
	eventually(t, forceDropped(t, name, "still goes"))

	h.mu.Lock()
	h.going[name] = false
	h.mu.Unlock()
	h.tear(t, name, tearing(ran("destroy", "WaitingForCredentials", v1alpha1.ReasonWaitingForCredentials, "kubectl create it")))
	eventually(t, stepIs(name, "Destroy", v1alpha1.StepWaitingOnYou, "kubectl create it"))
	h.tear(t, name, tearing(ran("destroy", "Running", "", "")))
	eventually(t, stepIs(name, "Destroy", v1alpha1.StepRunning, "logs job/tofu-x-1-destroy"))

	failed := tearing(ran("destroy", "Failed", v1alpha1.ReasonPermissionDenied, "the cloud says no"))
	failed.Failed = true
	failed.Run.LeftBehind = []v1alpha1.Leftover{{Kind: "disk", ID: "d-1"}}
	h.tear(t, name, failed)
	eventually(t, stepIs(name, "Destroy", v1alpha1.StepFailed, "the cloud says no. Its log: "), stepIs(name, "Destroy", v1alpha1.StepFailed, "force=torn/Destroy"))
	if h.was(h.again, name) {
		t.Error("nobody asked to run it again")
	}
	force(t, name, "Destroy")
	eventually(t, func() error {
		if !h.was(h.again, name) {
			return errors.New("it is not run again")
		}
		return nil
	})
	second := tearing(ran("destroy", "Running", "", ""))
	second.Run.Attempt = 2
	h.tear(t, name, second)
	eventually(t, forceDropped(t, name, ""), stepIs(name, "Destroy", v1alpha1.StepRunning, "logs job"))
	if kept, err := getSecret("infrared", state.Name); err != nil || kept.Labels[v1alpha1.LabelCluster] != name || !kept.DeletionTimestamp.IsZero() {
		t.Errorf("the state has to stay until all is destroyed, and to stay the Cluster's: %v %v", kept, err)
	}
	if h.was(h.forgotten, name) {
		t.Error("it was forgotten before it was destroyed")
	}

	done := tearing(ran("destroy", "Succeeded", "", ""))
	done.Done, done.Run.LeftBehind = true, failed.Run.LeftBehind
	h.tear(t, name, done)
	eventually(t, goneCluster(name))
	if told := events(t, name); !contains(told, "DestroyAgain") || !contains(told, "has the destroy run again") {
		t.Errorf("an event says who had it run again: %s", told)
	}
	found := records(t, name)
	if len(found) != 1 || found[0].Spec.LeftCount != 1 || found[0].Spec.Forced != "" || len(found[0].Spec.Steps) != 2 || found[0].Spec.Steps[1].State != v1alpha1.StepDone {
		t.Errorf("the record says what was left, and that nothing was moved past: %+v", found)
	}
	if !h.was(h.forgotten, name) {
		t.Error("what runs needed is not taken away")
	}
	if _, err := getSecret("infrared", "cluster-torn-credentials"); err != nil {
		t.Errorf("the credentials are the person's: %v", err)
	}
	if steps := found[0].Spec.Steps; !strings.Contains(steps[1].Message, "kubectl -n infrared delete secret cluster-torn-credentials") {
		t.Errorf("the record says that the credentials are still there: %q", steps[1].Message)
	}
	deleteSecret(t, "infrared", state.Name)
}

// TestNothingToDestroy is that no Job runs for what was never built, and none for what was only registered.
func TestNothingToDestroy(t *testing.T) {
	h, _ := withBuilds(t)
	h.turn(t, "never", build.Turn{Run: ran("plan", "WaitingForCredentials", v1alpha1.ReasonWaitingForCredentials, "kubectl create it")})
	toBuild(t, "never")
	eventually(t, has("never", "Connected", "False", v1alpha1.ReasonWaitingForCredentials))
	letGo(t, "never")
	found := records(t, "never")
	if len(found) != 1 || len(found[0].Spec.Steps) != 2 || found[0].Spec.Steps[1].State != v1alpha1.StepSkipped || found[0].Spec.Steps[1].Message == "" {
		t.Errorf("Destroy is skipped, and says why: %+v", found)
	}
	if !h.was(h.forgotten, "never") {
		t.Error("what a run would have needed is there already, and is not taken away")
	}
}
