// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/deletion"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
)

// hold is a finalizer of somebody else.
const hold = "example.net/hold"

// againCases are deletions at odd times, and names that are used again.
func againCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"at once":         deletedAtOnce,
		"gone unseen":     goneUnseen,
		"same name":       sameNameAgain,
		"while deleting":  touchedWhileDeleting,
		"not built yet":   templateLetGo,
		"foreground":      foregroundDeletion,
		"two secret keys": oneSecretManyTimes,
	}
}

// annotate sets an annotation of a Cluster, or takes it off where value is "".
func annotate(t *testing.T, name, key, value string) {
	t.Helper()
	quoted := "null"
	if value != "" {
		quoted = fmt.Sprintf("%q", value)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, quoted)
	if err := patchCluster(name, patch); err != nil {
		t.Fatalf("annotating Cluster %s with %s=%s: %v", name, key, value, err)
	}
}

// patchCluster is a merge patch as kubectl makes one: without a lock.
func patchCluster(name, patch string) error {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return env.Client.Patch(context.Background(), c, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(managerOf(patch)))
}

// managerOf is the field manager that a patch is sent by: one for the confirmation alone, as kubectl annotate is where it sets no other
// annotation.
func managerOf(patch string) string {
	if contains(patch, v1alpha1.AnnotationConfirmDelete) {
		return "kubectl-annotate"
	}
	return "kubectl-edit"
}

// confirmAndDelete asks for a deletion as a person does.
func confirmAndDelete(t *testing.T, name string, opts ...client.DeleteOption) {
	t.Helper()
	annotate(t, name, v1alpha1.AnnotationConfirmDelete, name)
	if err := env.Client.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, opts...); err != nil {
		t.Fatalf("deleting Cluster %s: %v", name, err)
	}
}

// goneCluster is nil when the Cluster is not there.
func goneCluster(name string) func() error {
	return func() error {
		c, err := getCluster(name)
		if err == nil {
			return fmt.Errorf("cluster %s is there: %+v", name, c.Status.Deletion)
		}
		return client.IgnoreNotFound(err)
	}
}

// stepIs is nil when the deletion is on a step, in a state, with these words.
func stepIs(name, step string, state v1alpha1.StepState, word string) func() error {
	return func() error {
		c, err := getCluster(name)
		if err != nil {
			return err
		}
		d := c.Status.Deletion
		if d == nil || d.Step != step || d.State != state || !contains(d.Message, word) {
			return fmt.Errorf("the deletion of %s is %+v, want %s %s %q", name, d, step, state, word)
		}
		return nil
	}
}

// nothingLeft is nil when no object on the management cluster is marked for a Cluster any more.
func nothingLeft(name string) func() error {
	return func() error {
		var claims corev1.ConfigMapList
		var secrets corev1.SecretList
		mine := client.MatchingLabels{v1alpha1.LabelCluster: name}
		if err := errors.Join(env.Client.List(context.Background(), &claims, mine), env.Client.List(context.Background(), &secrets, mine)); err != nil {
			return err
		}
		if n := len(claims.Items) + len(secrets.Items); n > 0 {
			return fmt.Errorf("%d claims and %d Secrets of %s are left", len(claims.Items), len(secrets.Items), name)
		}
		return nil
	}
}

// deletedAtOnce is a Cluster that is deleted before the operator may have seen it.
func deletedAtOnce(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	for i := range 5 {
		name := fmt.Sprintf("at-once-%d", i)
		create(t, kubeconfigSecret(name, k0{}.text(wc)))
		c := workload(name)
		c.Annotations = map[string]string{v1alpha1.AnnotationConfirmDelete: name}
		create(t, c)
		if err := env.Client.Delete(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		eventually(t, goneCluster(name), nothingLeft(name), absent("argocd", "cluster-"+name))
	}
}

// goneUnseen is that a Secret which was marked for a Cluster that is no more does not stay for ever.
func goneUnseen(t *testing.T, _ *world) {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "gone-unseen", UID: "4bb2d1a6-95f4-4d0f-a3a9-1d0b8e1f0c11"}}
	c.Spec.Incarnation = string(c.UID)
	for _, namespace := range []string{v1alpha1.Namespace, v1alpha1.ArgoNamespace} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gone-unseen"}}
		owned.Mark(secret, c)
		create(t, secret)
	}
	eventually(t, nothingLeft(c.Name))
}

// sameNameAgain is that a later Cluster of an old name inherits nothing.
func sameNameAgain(t *testing.T, _ *world) {
	var incarnations []string
	for range 2 {
		wc := start(t, testcluster.Options{}) // another cluster each time
		register(t, "again", k0{}.text(wc))
		eventually(t, has("again", "Connected", "True", v1alpha1.ReasonConnected),
			argoHas("again", map[string]string{"name": "again", "server": wc.URL(), "config": tokenConfig("S3CR3T.abc", wc)}))
		c, err := getCluster("again")
		if err != nil {
			t.Fatal(err)
		}
		if c.Status.Deletion != nil || c.Status.Identity.KubeSystemUID != wc.Behaviour().UID || c.Spec.Incarnation != string(c.UID) {
			t.Errorf("the new Cluster has something of the old one: %+v %+v", c.Spec, c.Status)
		}
		incarnations = append(incarnations, c.Spec.Incarnation)
		letGo(t, "again")
		eventually(t, nothingLeft("again"))
	}
	if found := records(t, "again"); len(found) != 2 || incarnations[0] == incarnations[1] {
		t.Errorf("want a record for each of %v, got %+v", incarnations, found)
	}
}

// touchedWhileDeleting is what people may do to a Cluster that is on its way.
func touchedWhileDeleting(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "on-its-way", k0{}.text(wc))
	eventually(t, has("on-its-way", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("on-its-way", tokenConfig("S3CR3T.abc", wc)))
	changeSecret(t, "argocd", "cluster-on-its-way", func(s *corev1.Secret) { s.Finalizers = append(s.Finalizers, hold) })
	confirmAndDelete(t, "on-its-way")
	eventually(t, stepIs("on-its-way", deletion.StepDisconnect, v1alpha1.StepRunning, hold))
	before, err := getCluster("on-its-way")
	if err != nil {
		t.Fatal(err)
	}

	if err := env.Client.Create(t.Context(), workload("on-its-way")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("making it again: %v, want that it exists", err)
	}
	for name, patch := range map[string]string{
		"region": `{"spec":{"region":"elsewhere"}}`, "kubeconfig": `{"spec":{"connection":{"kubeconfigSecretRef":{"name":"other"}}}}`,
	} {
		if err := patchCluster("on-its-way", patch); err == nil || !contains(err.Error(), "being deleted") {
			t.Errorf("changing the %s of a Cluster that is being deleted: %v", name, err)
		}
	}
	annotate(t, "on-its-way", "example.net/note", "is fine")
	if err := env.Client.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "on-its-way"}}); err != nil {
		t.Errorf("deleting it a second time: %v", err)
	}
	after, err := getCluster("on-its-way")
	if err != nil || !after.Status.Deletion.StartedAt.Equal(before.Status.Deletion.StartedAt) || len(after.Status.Deletion.Steps) != 1 {
		t.Errorf("the second deletion began anew: %+v %v", after.Status.Deletion, err)
	}
	changeSecret(t, "argocd", "cluster-on-its-way", func(s *corev1.Secret) { s.Finalizers = nil })
	eventually(t, goneCluster("on-its-way"), nothingLeft("on-its-way"))
	if found := records(t, "on-its-way"); len(found) != 1 || found[0].Spec.Forced != "" || found[0].Spec.LeftCount != 0 {
		t.Errorf("want one clean record, got %+v", found)
	}
}

// templateLetGo is a Cluster that nothing was built for.
func templateLetGo(t *testing.T, _ *world) {
	c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Template: &v1alpha1.Template{Module: "aws/eks-cluster", Version: "v0.14.0"}}}
	c.Name = "to-build"
	create(t, c)
	eventually(t, has("to-build", "Connected", "False", v1alpha1.ReasonProviderUnavailable))
	letGo(t, "to-build")
}

// foregroundDeletion is Argo CD's default, which would remove what a Cluster owns first.
func foregroundDeletion(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "foreground", k0{}.text(wc))
	eventually(t, argoConfig("foreground", tokenConfig("S3CR3T.abc", wc)))
	confirmAndDelete(t, "foreground", client.PropagationPolicy(metav1.DeletePropagationForeground))
	eventually(t, goneCluster("foreground"), nothingLeft("foreground"), absent("argocd", "cluster-foreground"))
}

// oneSecretManyTimes is that a Secret with more in it than the kubeconfig is still the Cluster's, and goes with it.
func oneSecretManyTimes(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	s := kubeconfigSecret("many-keys", k0{}.text(wc))
	s.Data["notes"] = []byte("S3CR3T")
	s.Labels = map[string]string{"team": "edge"}
	create(t, s)
	create(t, workload("many-keys"))
	eventually(t, has("many-keys", "Connected", "True", v1alpha1.ReasonConnected), func() error {
		s, err := getSecret("infrared", "many-keys-kubeconfig")
		if err == nil && (s.Labels["team"] != "edge" || len(s.Data) != 2) {
			err = fmt.Errorf("what else was in the Secret is lost: %v", s.Labels)
		}
		return err
	})
	letGo(t, "many-keys")
	eventually(t, absent("infrared", "many-keys-kubeconfig"))
}

// patchCases are changes that come at the same time as others.
func patchCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){"h07 at once": patchesAtOnce}
}

// patchesAtOnce is that two people's changes both survive, while the operator writes the status.
func patchesAtOnce(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "patched", k0{}.text(wc))
	for i := range 20 {
		want := fmt.Sprintf("v%d", i)
		var all sync.WaitGroup
		errs := make([]error, 2)
		for j, field := range []string{"region", "flavor"} {
			all.Go(func() { errs[j] = patchCluster("patched", fmt.Sprintf(`{"spec":{%q:%q}}`, field, want)) })
		}
		all.Wait()
		c, err := getCluster("patched")
		if err := errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		if c.Spec.Region != want || c.Spec.Flavor != want {
			t.Fatalf("of two changes at once one is lost: %q %q, want %q", c.Spec.Region, c.Spec.Flavor, want)
		}
	}
	testenv.Eventually(t, func() error {
		c, err := getCluster("patched")
		if err == nil && (c.Status.Region != "v19" || c.Status.ObservedGeneration != c.Generation) {
			err = fmt.Errorf("status of generation %d: %+v", c.Generation, c.Status)
		}
		return err
	})
}
