// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/deletion"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
)

func contains(text, word string) bool { return strings.Contains(text, word) }

// runWithClock runs an operator of the test's own by a clock in the test's hands. The waits of its queue are real, so that after a step
// of the clock something must poke it.
func runWithClock(t *testing.T, now time.Time) *testingclock.FakePassiveClock {
	t.Helper()
	clock := testingclock.NewFakePassiveClock(now)
	env.RunOperator(t, func(o *operator.Options) { o.Clock = clock })
	return clock
}

// poke makes the operator look at a Cluster.
func poke(t *testing.T, name string) {
	t.Helper()
	annotate(t, name, "example.net/poke", fmt.Sprint(time.Now().UnixNano()))
}

// whoAmI is the user of env.Client.
func whoAmI(t *testing.T) string {
	t.Helper()
	out, err := env.Kubectl(t.Context(), "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	if err != nil {
		t.Fatalf("asking who I am: %v: %s", err, out)
	}
	return out
}

func force(t *testing.T, name, step string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
		v1alpha1.AnnotationForce, name+"/"+step, v1alpha1.AnnotationForceBy, whoAmI(t))
	if err := patchCluster(name, patch); err != nil {
		t.Fatalf("forcing %s of %s: %v", step, name, err)
	}
}

// forceDropped is nil when the annotations that force are off, and an event says why they were not followed.
func forceDropped(t *testing.T, name, why string) func() error {
	return func() error {
		c, err := getCluster(name)
		if err != nil {
			return err
		}
		if c.Annotations[v1alpha1.AnnotationForce] != "" || c.Annotations[v1alpha1.AnnotationForceBy] != "" {
			return fmt.Errorf("the word to force still stands: %v", c.Annotations)
		}
		if told := events(t, name); !contains(told, "ForceRefused") || !contains(told, why) {
			return fmt.Errorf("no event says %q: %s", why, told)
		}
		return nil
	}
}

// TestStuck follows a step that somebody else's finalizer keeps: it is Stuck after more than fifteen minutes and not before, ends by
// itself when the cause goes, and moves on when somebody forces it.
func TestStuck(t *testing.T) {
	clock := runWithClock(t, time.Now())
	for _, name := range []string{"stuck", "forced"} {
		wc := start(t, testcluster.Options{})
		register(t, name, k0{}.text(wc))
		eventually(t, has(name, "Connected", "True", v1alpha1.ReasonConnected), argoConfig(name, tokenConfig("S3CR3T.abc", wc)))
		changeSecret(t, "argocd", "cluster-"+name, func(s *corev1.Secret) { s.Finalizers = append(s.Finalizers, hold) })
		confirmAndDelete(t, name)
		eventually(t, stepIs(name, deletion.StepDisconnect, v1alpha1.StepRunning, hold))
	}
	c, err := getCluster("forced")
	if err != nil {
		t.Fatal(err)
	}
	began := c.Status.Deletion.Steps[0].StartedAt.Time

	force(t, "forced", "Destroy")
	eventually(t, forceDropped(t, "forced", "Disconnect, not Destroy"))
	clock.SetTime(began.Add(15 * time.Minute))
	force(t, "forced", deletion.StepDisconnect)
	eventually(t, forceDropped(t, "forced", "neither Stuck nor Failed"), stepIs("forced", deletion.StepDisconnect, v1alpha1.StepRunning, hold))

	clock.SetTime(began.Add(15*time.Minute + time.Second))
	poke(t, "forced")
	eventually(t, stepIs("forced", deletion.StepDisconnect, v1alpha1.StepStuck, hold))
	clock.SetTime(began.Add(30 * time.Minute))
	poke(t, "stuck")
	eventually(t, stepIs("stuck", deletion.StepDisconnect, v1alpha1.StepStuck, hold))

	changeSecret(t, "argocd", "cluster-stuck", func(s *corev1.Secret) { s.Finalizers = nil })
	eventually(t, goneCluster("stuck"), nothingLeft("stuck"))
	if found := records(t, "stuck"); len(found) != 1 || found[0].Spec.Forced != "" || found[0].Spec.LeftCount != 0 {
		t.Errorf("want one clean record, got %+v", found)
	}

	force(t, "forced", deletion.StepDisconnect)
	eventually(t, goneCluster("forced"), absent("infrared", "forced-kubeconfig"))
	found := records(t, "forced")
	if len(found) != 1 || found[0].Spec.Forced != "Disconnect by "+whoAmI(t) || found[0].Spec.LeftCount != 1 {
		t.Fatalf("want a record of who forced what and what is left, got %+v", found)
	}
	if left := found[0].Spec.Steps[0].LeftBehind[0]; left.ID != "argocd/cluster-forced" || !contains(left.Why, hold) {
		t.Errorf("what is left behind is not said: %+v", left)
	}
	changeSecret(t, "argocd", "cluster-forced", func(s *corev1.Secret) { s.Finalizers = nil })
	eventually(t, absent("argocd", "cluster-forced"))
	refusedAdoption(t, found[0].Spec.Incarnation)
	noSecretAnywhere(t)
	// The claims of a step that was forced are the garbage collector's, which takes half a minute.
	eventually(t, nothingLeft("forced"))
}

// refusedAdoption is that what was let go is not brought back under its old incarnation, whatever else a backup carries.
func refusedAdoption(t *testing.T, incarnation string) {
	t.Helper()
	for _, finalizers := range [][]string{nil, {v1alpha1.FinalizerDeletion}} {
		wc := start(t, testcluster.Options{})
		register(t, "forced", k0{}.text(wc), func(c *v1alpha1.Cluster) {
			c.Spec.Incarnation, c.Finalizers = incarnation, finalizers
		})
		eventually(t, has("forced", "Connected", "False", v1alpha1.ReasonAlreadyDeleted, "DeletionRecord forced-u"))
		if n := wc.RequestCount(); n > 0 {
			t.Errorf("a refused Cluster was connected to, %d requests", n)
		}
		letGo(t, "forced")
		deleteSecret(t, "infrared", "forced-kubeconfig")
		eventually(t, absent("infrared", "forced-kubeconfig"), absent("argocd", "cluster-forced"))
	}
}

// TestConfirmationExpires is that a confirmation counts for ten minutes from when it was set. The clock is behind the API server's, so
// that what the API server wrote down is never the newer.
func TestConfirmationExpires(t *testing.T) {
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	clock := runWithClock(t, began)
	wc := start(t, testcluster.Options{})
	register(t, "expiring", k0{}.text(wc))
	eventually(t, has("expiring", "Connected", "True", v1alpha1.ReasonConnected))
	deletable := func() error {
		return env.Client.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "expiring"}}, client.DryRunAll)
	}
	confirmation := func(expired bool) func() error {
		return func() error {
			c, err := getCluster("expiring")
			if err == nil && (c.Status.Confirmation == nil || c.Status.Confirmation.Expired != expired) {
				err = fmt.Errorf("confirmation %+v, want expired %v", c.Status.Confirmation, expired)
			}
			return err
		}
	}
	annotate(t, "expiring", v1alpha1.AnnotationConfirmDelete, "expiring")
	eventually(t, confirmation(false), deletable)

	clock.SetTime(began.Add(10*time.Minute - time.Second))
	poke(t, "expiring")
	eventually(t, confirmation(false), deletable)
	clock.SetTime(began.Add(10 * time.Minute))
	poke(t, "expiring")
	eventually(t, confirmation(true))
	if err := deletable(); err == nil || !contains(err.Error(), "older than ten minutes") || !contains(err.Error(), "kubectl annotate cluster expiring") {
		t.Errorf("an old confirmation: %v", err)
	}

	annotate(t, "expiring", v1alpha1.AnnotationConfirmDelete, "")
	eventually(t, func() error {
		c, err := getCluster("expiring")
		if err == nil && c.Status.Confirmation != nil {
			err = errors.New("the confirmation is still remembered")
		}
		return err
	})
	annotate(t, "expiring", v1alpha1.AnnotationConfirmDelete, "expiring")
	eventually(t, confirmation(false), deletable)
	// It is taken out here and set anew at once by letGo, which counts whether or not the operator has seen it in between.
	clock.SetTime(time.Now().Add(time.Minute))
	annotate(t, "expiring", v1alpha1.AnnotationConfirmDelete, "")
}

// TestUnconfirmedDeletion is a deletion that no policy stopped: nothing is touched until somebody confirms.
func TestUnconfirmedDeletion(t *testing.T) {
	env.RunOperator(t)
	wc := start(t, testcluster.Options{})
	register(t, "unguarded", k0{}.text(wc))
	eventually(t, has("unguarded", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("unguarded", tokenConfig("S3CR3T.abc", wc)))
	secretsBefore := contentOf(t, "unguarded")

	policies := filepath.Join(env.Root, "deploy", "admission", "clusters.yaml")
	if out, err := env.Kubectl(t.Context(), "delete", "validatingadmissionpolicybinding", "infrared-cluster-delete"); err != nil {
		t.Fatalf("taking the policy away: %v: %s", err, out)
	}
	foreground := client.PropagationPolicy(metav1.DeletePropagationForeground)
	testenv.Eventually(t, func() error {
		return env.Client.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "unguarded"}}, foreground)
	})
	if out, err := env.Kubectl(t.Context(), "apply", "--server-side", "-f", policies); err != nil {
		t.Fatalf("putting the policy back: %v: %s", err, out)
	}

	eventually(t, stepIs("unguarded", "Confirm", v1alpha1.StepWaitingOnYou, "kubectl annotate cluster unguarded infrared.darkshift.io/confirm-delete=unguarded"))
	if after := contentOf(t, "unguarded"); after != secretsBefore {
		t.Error("an unconfirmed deletion touched Secrets")
	}
	annotate(t, "unguarded", v1alpha1.AnnotationConfirmDelete, "unguarded")
	eventually(t, goneCluster("unguarded"), nothingLeft("unguarded"))
	waitForDeletePolicy(t)
}

// contentOf is what a Cluster's Secrets hold, and what guards them. That they are deleted with the Cluster, which is what a foreground
// deletion does, is not in it.
func contentOf(t *testing.T, name string) string {
	t.Helper()
	argo, err := getSecret("argocd", "cluster-"+name)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := getSecret("infrared", name+"-kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(argo.Data, argo.Finalizers, argo.Labels, kubeconfig.Data, kubeconfig.Finalizers, kubeconfig.Labels)
}

// waitForDeletePolicy waits until the policy on deleting is in force again, which the API server reads with a delay.
func waitForDeletePolicy(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, func() error {
		err := env.Client.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "management"}}, client.DryRunAll)
		if err == nil {
			return errors.New("the policy on deleting Clusters is not in force yet")
		}
		return nil
	})
}

// TestFlappingCluster is an API server that answers every other time: the condition does not turn with it, but does once it stays away.
func TestFlappingCluster(t *testing.T) {
	clock := runWithClock(t, time.Now())
	wc := start(t, testcluster.Options{})
	register(t, "flapping", k0{}.text(wc))
	eventually(t, has("flapping", "Connected", "True", v1alpha1.ReasonConnected))
	turned := func() metav1.Time {
		c, err := getCluster("flapping")
		if err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(c.Status.Conditions, "Connected").LastTransitionTime
	}
	before := turned()
	look := func(status int) {
		t.Helper()
		wc.Change(func(b *testcluster.Behaviour) { b.Status = status })
		asked, tries := wc.RequestCount(), 0
		testenv.Eventually(t, func() error {
			// Again after a while, in case the answer before was written down after the clock had been set.
			if tries%10 == 0 {
				clock.SetTime(clock.Now().Add(7 * time.Minute)) // later than any next look
			}
			tries++
			poke(t, "flapping")
			if wc.RequestCount() == asked {
				return errors.New("the cluster was not looked at")
			}
			return nil
		})
	}
	for range 4 {
		look(503)
		look(0)
	}
	after := turned()
	if err := has("flapping", "Connected", "True", v1alpha1.ReasonConnected)(); err != nil || !after.Equal(&before) {
		t.Errorf("the condition flaps with the cluster, since %v, before %v: %v", after, before, err)
	}
	for range 3 {
		look(503)
	}
	eventually(t, has("flapping", "Connected", "False", v1alpha1.ReasonUnreachable, "503"))
	if err := argoConfig("flapping", tokenConfig("S3CR3T.abc", wc))(); err != nil {
		t.Errorf("a cluster that is away for a while is forgotten: %v", err)
	}
	look(0)
	eventually(t, has("flapping", "Connected", "True", v1alpha1.ReasonConnected))
}

// TestTwoOperators is two operators at once, as when both think that they lead: the end is the same.
func TestTwoOperators(t *testing.T) {
	env.RunOperator(t)
	env.RunOperator(t)
	const clusters = 6
	servers := map[string]*testcluster.Server{}
	for i := range clusters {
		name := fmt.Sprintf("twice-%d", i)
		servers[name] = start(t, testcluster.Options{})
		register(t, name, k0{}.text(servers[name]))
	}
	for name, wc := range servers {
		eventually(t, has(name, "Connected", "True", v1alpha1.ReasonConnected), argoConfig(name, tokenConfig("S3CR3T.abc", wc)))
	}
	for name := range servers {
		confirmAndDelete(t, name)
	}
	for name := range servers {
		eventually(t, goneCluster(name), nothingLeft(name), absent("argocd", "cluster-"+name))
		if found := records(t, name); len(found) != 1 || found[0].Spec.Forced != "" {
			t.Errorf("%s: want one record, got %+v", name, found)
		}
	}
}
