// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	ofrun "darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/deletion"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/provider"
)

// builtName is the Cluster of these lives.
const builtName = "to-build"

// addFake compiles the plugin that has a template.
func addFake(t testing.TB, w *world, folder string) {
	t.Helper()
	build := exec.Command("go", "build", "-o", filepath.Join(folder, "fake"), "./hack/fake")
	build.Dir = w.Root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the plugin: %v: %s", err, out)
	}
}

// builtLife is the life of a Cluster with a template: planned, applied, and destroyed at the second try. Its pods have no node, so the
// test plays infrared-build.
func (w *world) builtLife(ctx context.Context, t *testing.T, folder string) {
	t.Helper()
	addFake(t, w, folder)
	healthy := outcome{binary: "fake", reason: v1alpha1.ReasonHealthy, status: metav1.ConditionTrue}
	w.applyProvider(ctx, t, "fake", folder, healthy)
	w.providerMustBe(ctx, t, "fake", healthy)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: builtName},
		Spec: v1alpha1.ClusterSpec{
			Template: &v1alpha1.Template{Module: "fake/cluster", Version: "v0.1.0"}, Provision: &v1alpha1.Provision{},
		},
	}
	if err := w.Client.Create(ctx, cluster); err != nil {
		t.Fatal(err)
	}
	w.mustBecome(ctx, t, builtName, v1alpha1.ReasonWaitingForCredentials)
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(builtName)},
		// Nobody is at that address.
		Data: map[string][]byte{"FAKE_ENDPOINT": []byte("http://127.0.0.1:1"), "FAKE_TOKEN": []byte("S3CR3T")},
	}
	if err := w.Client.Create(ctx, credentials); err != nil {
		t.Fatal(err)
	}
	planned := w.mustRun(ctx, t, v1alpha1.ActionPlan, 1)
	w.savePlan(ctx, t, planned)
	w.endRun(ctx, t, planned, ofrun.Outcome{Digest: "sha256:plan", Changes: []provider.Change{{Address: "x.y", Type: "x", Operation: provider.OperationCreate}}})
	w.mustBecome(ctx, t, builtName, v1alpha1.ReasonNotBuilt)

	w.patchCluster(ctx, t, `{"spec":{"provision":{"action":"apply"}}}`)
	apply := w.mustRun(ctx, t, v1alpha1.ActionApply, 1)
	ended := ofrun.Outcome{Outputs: map[string]json.RawMessage{"cluster_id": json.RawMessage(`"c-1"`)}}
	w.tell(ctx, t, ofrun.NamesOf(builtName, apply.Spec.Incarnation).Ledger(), ofrun.KeyLedger, ofrun.Ledger{Applied: &ended})
	w.endRun(ctx, t, apply, ended)
	w.mustBecome(ctx, t, builtName, v1alpha1.ReasonCloudUnavailable)

	w.destroyTwice(ctx, t)
	w.providerMustGo(ctx, t, "fake")
}

// destroyTwice deletes the Cluster, whose destroy fails first and is run again.
func (w *world) destroyTwice(ctx context.Context, t *testing.T) {
	t.Helper()
	err := testenv.Poll(ctx, func() error {
		cluster, err := w.cluster(ctx, builtName)
		if err != nil {
			return err
		}
		if err := w.confirm(ctx, cluster); err != nil {
			return err
		}
		return w.Client.Delete(ctx, cluster)
	})
	if err != nil {
		t.Fatal(err)
	}
	first := w.mustRun(ctx, t, v1alpha1.ActionDestroy, 1)
	w.endRun(ctx, t, first, ofrun.Outcome{Failure: &ofrun.Failure{Reason: v1alpha1.ReasonQuotaExceeded, Message: "no more"}})
	w.mustDelete(ctx, t, v1alpha1.StepFailed)
	who, err := w.Kubectl(ctx, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	if err != nil {
		t.Fatal(err)
	}
	w.patchCluster(ctx, t, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
		v1alpha1.AnnotationForce, builtName+"/"+deletion.StepDestroy, v1alpha1.AnnotationForceBy, who))
	second := w.mustRun(ctx, t, v1alpha1.ActionDestroy, 2)
	w.endRun(ctx, t, second, ofrun.Outcome{})
	err = testenv.Poll(ctx, func() error {
		cluster, err := w.cluster(ctx, builtName)
		if err == nil {
			err = fmt.Errorf("it is there: %+v", cluster.Status.Deletion)
		}
		return client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) patchCluster(ctx context.Context, t testing.TB, patch string) {
	t.Helper()
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: builtName}}
	if err := w.Client.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// mustRun waits until a run goes.
func (w *world) mustRun(ctx context.Context, t testing.TB, action v1alpha1.Action, attempt int32) *v1alpha1.Cluster {
	t.Helper()
	var cluster *v1alpha1.Cluster
	err := testenv.Poll(ctx, func() (err error) {
		if cluster, err = w.cluster(ctx, builtName); err != nil {
			return err
		}
		if r := cluster.Status.Run; r == nil || r.Action != action || r.Attempt != attempt || r.Phase != v1alpha1.RunRunning {
			return fmt.Errorf("the run is %+v, want attempt %d of %s to go", r, attempt, action)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// mustDelete waits until the destroy is in a state.
func (w *world) mustDelete(ctx context.Context, t testing.TB, state v1alpha1.StepState) {
	t.Helper()
	err := testenv.Poll(ctx, func() error {
		cluster, err := w.cluster(ctx, builtName)
		if err != nil {
			return err
		}
		if d := cluster.Status.Deletion; d == nil || d.Step != deletion.StepDestroy || d.State != state {
			return fmt.Errorf("the deletion is %+v, want Destroy %s", d, state)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// savePlan is what a plan leaves in its Secret.
func (w *world) savePlan(ctx context.Context, t testing.TB, cluster *v1alpha1.Cluster) {
	t.Helper()
	name := ofrun.NamesOf(builtName, cluster.Spec.Incarnation).Plan()
	err := testenv.Poll(ctx, func() error {
		secret, err := w.secret(ctx, v1alpha1.Namespace, name)
		if err != nil {
			return err
		}
		secret.Data = map[string][]byte{ofrun.KeyPlan: []byte("S3CR3T"), ofrun.KeyDigest: []byte("sha256:plan")}
		return w.Client.Update(ctx, secret)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tell writes something into a ConfigMap of the runs.
func (w *world) tell(ctx context.Context, t testing.TB, name, key string, value any) {
	t.Helper()
	packed, err := ofrun.Pack(value)
	if err != nil {
		t.Fatal(err)
	}
	err = testenv.Poll(ctx, func() error {
		var stored corev1.ConfigMap
		if err := w.Client.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: name}, &stored); err != nil {
			return err
		}
		if stored.BinaryData == nil {
			stored.BinaryData = map[string][]byte{}
		}
		stored.BinaryData[key] = packed
		return w.Client.Update(ctx, &stored)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// endRun has the run tell how it ended, and its pod end.
func (w *world) endRun(ctx context.Context, t testing.TB, cluster *v1alpha1.Cluster, outcome ofrun.Outcome) {
	t.Helper()
	outcome.EndedAt = time.Now()
	w.tell(ctx, t, cluster.Status.Run.Record, ofrun.KeyOutcome, outcome)
	phase := corev1.PodSucceeded
	if outcome.Failure != nil {
		phase = corev1.PodFailed
	}
	err := testenv.Poll(ctx, func() error {
		var pods corev1.PodList
		err := w.Client.List(ctx, &pods, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{"batch.kubernetes.io/job-name": cluster.Status.Run.Job})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Annotations["infrared.darkshift.io/record"] == cluster.Status.Run.Record {
				pod.Status.Phase = phase
				return w.Client.Status().Update(ctx, pod)
			}
		}
		return errors.New("the Job has no pod yet")
	})
	if err != nil {
		t.Fatal(err)
	}
}
