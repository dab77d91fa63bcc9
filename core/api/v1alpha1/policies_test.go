// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testenv"
)

const (
	confirm = v1alpha1.AnnotationConfirmDelete
	force   = v1alpha1.AnnotationForce
	forceBy = v1alpha1.AnnotationForceBy
	backup  = v1alpha1.AnnotationBackup
)

// merge is a merge patch, as kubectl makes one.
func merge(t *testing.T, c client.Client, name, patch string) error {
	t.Helper()
	return c.Patch(t.Context(), registered(name), client.RawPatch(types.MergePatchType, []byte(patch)))
}

func annotation(key, value string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
}

func mustCreate(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// TestDeletePolicy is that a Cluster is deleted by nobody who did not say its name first.
func TestDeletePolicy(t *testing.T) {
	mustCreate(t, env.Client, registered("guarded"))
	mustCreate(t, env.Client, registered("guarded-2"))
	noConfirmation := []string{"confirmed by its own name", "kubectl annotate cluster guarded " + confirm + "=guarded"}
	cases := map[string]struct {
		reason string
		set    string
		words  []string
	}{
		"absent": {"nothing was said", "", noConfirmation},
		"empty":  {"nothing was said", annotation(confirm, ""), nil},
		"case":   {"names are lower case", annotation(confirm, "Guarded"), nil},
		"blank":  {"not quite the name", annotation(confirm, "guarded "), nil},
		"other":  {"another one's name, which exists, too", annotation(confirm, "guarded-2"), nil},
		"others": {"two names", annotation(confirm, "guarded-2,guarded"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.set != "" {
				if wrong := refusedBy(merge(t, env.Client, "guarded", tc.set), confirm, "must be the name of the Cluster, guarded"); wrong != nil {
					t.Errorf("%s, but %v", tc.reason, wrong)
				}
			}
			if wrong := refusedBy(env.Client.Delete(t.Context(), registered("guarded")), noConfirmation...); wrong != nil {
				t.Errorf("%s, but %v", tc.reason, wrong)
			}
		})
	}
	if wrong := refusedBy(env.Client.Delete(t.Context(), registered("guarded"), client.DryRunAll), noConfirmation...); wrong != nil {
		t.Errorf("a dry run tells the truth, but %v", wrong)
	}
	if wrong := refusedBy(env.Client.DeleteAllOf(t.Context(), &v1alpha1.Cluster{}), "confirmed by its own name"); wrong != nil {
		t.Errorf("all at once is no way around, but %v", wrong)
	}
	if err := env.Client.Delete(t.Context(), registered("nope")); !apierrors.IsNotFound(err) {
		t.Errorf("deleting what isn't there: %v", err)
	}
	for _, name := range []string{"guarded", "guarded-2"} {
		if err := env.Client.Get(t.Context(), types.NamespacedName{Name: name}, &v1alpha1.Cluster{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

}

// TestDeletePolicyAndTime is that a confirmation that the operator calls expired counts no more, and a fresh one does.
func TestDeletePolicyAndTime(t *testing.T) {
	mustCreate(t, env.Client, registered("timed"))
	mustCreate(t, env.Client, registered("timed-2"))
	if err := merge(t, env.Client, "timed", annotation(confirm, "timed")); err != nil {
		t.Fatal(err)
	}
	expired := fmt.Sprintf(`{"status":{"confirmation":{"seenAt":%q,"expired":true}}}`, "2026-01-01T00:00:00Z")
	operator := theOperator(t)
	if err := operator.Status().Patch(t.Context(), registered("timed"), client.RawPatch(types.MergePatchType, []byte(expired))); err != nil {
		t.Fatal(err)
	}
	if wrong := refusedBy(env.Client.Delete(t.Context(), registered("timed")), "older than ten minutes", confirm+"- && kubectl annotate cluster timed"); wrong != nil {
		t.Errorf("a confirmation that was left counts no more, but %v", wrong)
	}
	if err := operator.Status().Patch(t.Context(), registered("timed"), client.RawPatch(types.MergePatchType, []byte(`{"status":{"confirmation":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := env.Client.Delete(t.Context(), registered("timed")); err != nil {
		t.Errorf("confirmed, but: %v", err)
	}
	if err := env.Client.Get(t.Context(), types.NamespacedName{Name: "timed-2"}, &v1alpha1.Cluster{}); err != nil {
		t.Errorf("the other one went, too: %v", err)
	}
}

// TestManagementPolicy is that the Cluster Infrared runs on is made by the operator and deleted by nobody.
func TestManagementPolicy(t *testing.T) {
	management := func() *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Type: v1alpha1.Management}}
		c.Name = "management"
		return c
	}
	if wrong := refusedBy(env.Client.Create(t.Context(), management()), "spec.type", "infrared-operator makes", "use workload"); wrong != nil {
		t.Errorf("a person can't make it, but %v", wrong)
	}
	mustCreate(t, theOperator(t), management())
	if err := env.Client.Create(t.Context(), registered("management")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("its name is taken, but: %v", err)
	}
	if err := merge(t, env.Client, "management", annotation(confirm, "management")); err != nil {
		t.Fatal(err)
	}
	if wrong := refusedBy(env.Client.Delete(t.Context(), management()), "the management cluster can't be deleted"); wrong != nil {
		t.Errorf("confirmed or not, it stays, but %v", wrong)
	}
	if err := merge(t, env.Client, "management", `{"spec":{"region":"here"}}`); err != nil {
		t.Errorf("its details may be changed, but: %v", err)
	}
}

// TestWritePolicy is what people may not write, whatever their rights.
func TestWritePolicy(t *testing.T) {
	operator := theOperator(t)
	deleting := registered("leaving")
	deleting.Finalizers = []string{v1alpha1.FinalizerDeletion}
	deleting.Annotations = map[string]string{confirm: "leaving"}
	mustCreate(t, env.Client, deleting)
	if err := env.Client.Delete(t.Context(), deleting); err != nil {
		t.Fatal(err)
	}
	staying := registered("staying")
	staying.Finalizers = []string{v1alpha1.FinalizerDeletion}
	mustCreate(t, env.Client, staying)

	who := "jane@example.net"
	jane := clientAs(t, who, "system:masters")
	forced := func(name, word, by string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`, force, name+"/"+word, forceBy, by)
	}
	cases := []struct {
		reason        string
		as            client.Client
		cluster, with string
		words         []string
	}{
		{"the operator alone ends a deletion", jane, "leaving", `{"metadata":{"finalizers":null}}`, []string{"metadata.finalizers", "infrared-operator alone", "status.deletion"}},
		{"nor before one", jane, "staying", `{"metadata":{"finalizers":["example.net/other"]}}`, []string{"metadata.finalizers"}},
		{"others may be added", jane, "staying", `{"metadata":{"finalizers":["example.net/other","` + v1alpha1.FinalizerDeletion + `"]}}`, nil},
		{"the backup is on or off", jane, "staying", annotation(backup, "maybe"), []string{backup, "true", "false"}},
		{"the backup may be off", jane, "staying", annotation(backup, "false"), nil},
		{"nothing to force yet", jane, "staying", forced("staying", "Disconnect", who), []string{force, "not being deleted"}},
		{"of this Cluster", jane, "leaving", forced("staying", "Disconnect", who), []string{force, "must be leaving/<step>"}},
		{"in nobody else's name", jane, "leaving", forced("leaving", "Disconnect", "root"), []string{forceBy, "must name you, " + who}},
		{"with a name", jane, "leaving", annotation(force, "leaving/Disconnect"), []string{forceBy, who}},
		{"a name alone is somebody's, too", jane, "leaving", annotation(forceBy, "root"), []string{forceBy}},
		{"in the own name", jane, "leaving", forced("leaving", "Disconnect", who), nil},
		{"somebody else's word is left alone", env.Client, "leaving", annotation("example.net/note", "x"), nil},
		{"and can't be made another", env.Client, "leaving", annotation(force, "leaving/Other"), []string{forceBy}},
		{"but can be taken back", env.Client, "leaving", fmt.Sprintf(`{"metadata":{"annotations":{%q:null,%q:null}}}`, force, forceBy), nil},
		{"what is on its way is not changed", jane, "leaving", `{"spec":{"region":"x"}}`, []string{"spec", "being deleted"}},
		{"the incarnation is the operator's", jane, "staying", `{"spec":{"incarnation":"00000000-0000-4000-8000-000000000002"}}`, []string{"spec.incarnation", "leave it out"}},
		{"which may", operator, "staying", `{"spec":{"incarnation":"00000000-0000-4000-8000-000000000002"}}`, nil},
		{"and ends the deletion", operator, "leaving", `{"metadata":{"finalizers":null}}`, nil},
	}
	for _, tc := range cases {
		t.Run(tc.reason, func(t *testing.T) {
			err := merge(t, tc.as, tc.cluster, tc.with)
			if len(tc.words) == 0 && err != nil {
				t.Errorf("it is refused: %v", err)
			}
			if len(tc.words) > 0 {
				if wrong := refusedBy(err, tc.words...); wrong != nil {
					t.Error(wrong)
				}
			}
		})
	}
}

// TestAdoptPolicy is that only who has the verb adopt brings an incarnation along.
func TestAdoptPolicy(t *testing.T) {
	for _, obj := range []client.Object{
		clusterRole("adopter", "create", "adopt"), clusterRole("maker", "create"), binding("adopter"), binding("maker"),
	} {
		mustCreate(t, env.Client, obj)
	}
	adopted := func() *v1alpha1.Cluster {
		c := registered("adopted")
		c.Spec.Incarnation = "00000000-0000-4000-8000-000000000003"
		return c
	}
	if wrong := refusedBy(clientAs(t, "maker").Create(t.Context(), adopted()), "spec.incarnation", "verb adopt"); wrong != nil {
		t.Errorf("who may create may not adopt, but %v", wrong)
	}
	if err := clientAs(t, "adopter").Create(t.Context(), adopted()); err != nil {
		t.Errorf("who may adopt may, but: %v", err)
	}
}

func clusterRole(name string, verbs ...any) client.Object {
	return rbac("ClusterRole", name, map[string]any{"rules": []any{map[string]any{
		"apiGroups": []any{v1alpha1.GroupVersion.Group}, "resources": []any{"clusters"}, "verbs": verbs,
	}}})
}

func binding(user string) client.Object {
	const group = "rbac.authorization.k8s.io"
	return rbac("ClusterRoleBinding", user, map[string]any{
		"roleRef":  map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": user},
		"subjects": []any{map[string]any{"apiGroup": group, "kind": "User", "name": user}},
	})
}

func rbac(kind, name string, rest map[string]any) client.Object {
	obj := &unstructured.Unstructured{Object: rest}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind})
	obj.SetName(name)
	return obj
}

// TestGuards is that what Infrared knows is not lost by one command.
func TestGuards(t *testing.T) {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	namespace := &corev1.Namespace{}
	for _, name := range []string{"clusters.infrared.darkshift.io", "deletionrecords.infrared.darkshift.io", "providers.infrared.darkshift.io"} {
		crd.SetName(name)
		if wrong := refusedBy(env.Client.Delete(t.Context(), crd), name, "delete every Cluster"); wrong != nil {
			t.Errorf("a CRD takes every object along, but %v", wrong)
		}
	}
	namespace.Name = "infrared"
	if wrong := refusedBy(env.Client.Delete(t.Context(), namespace, client.DryRunAll), "infrared holds", "delete every Cluster"); wrong != nil {
		t.Errorf("the namespace takes every kubeconfig along, but %v", wrong)
	}
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "somebodys"}}
	mustCreate(t, env.Client, other)
	if err := env.Client.Delete(t.Context(), other); err != nil {
		t.Errorf("other namespaces are none of ours, but: %v", err)
	}
}

// TestSecretPolicy is that a credential's finalizer is the operator's.
func TestSecretPolicy(t *testing.T) {
	for _, namespace := range []string{"infrared", "argocd"} {
		t.Run(namespace, func(t *testing.T) {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guarded", Finalizers: []string{v1alpha1.FinalizerDisconnect}, Labels: map[string]string{v1alpha1.LabelCluster: "edge", "team": "x"}}}
			mustCreate(t, env.Client, s)
			off := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if wrong := refusedBy(env.Client.Patch(t.Context(), s.DeepCopy(), off), "metadata.finalizers", "until infrared-operator lets", "kubectl apply"); wrong != nil {
				t.Errorf("nobody else takes it off, but %v", wrong)
			}
			for _, labels := range []string{`null`, `{"infrared-cluster":null}`, `{"infrared-cluster":"other"}`} {
				change := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":`+labels+`}}`))
				if wrong := refusedBy(env.Client.Patch(t.Context(), s.DeepCopy(), change), "metadata.labels", "which Cluster"); wrong != nil {
					t.Errorf("nobody else says whose it is, but %v", wrong)
				}
			}
			team := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":null}}}`))
			if err := env.Client.Patch(t.Context(), s.DeepCopy(), team); err != nil {
				t.Errorf("other labels are a person's, but: %v", err)
			}
			data := client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"a":"b"}}`))
			if err := env.Client.Patch(t.Context(), s.DeepCopy(), data); err != nil {
				t.Errorf("the rest of it is a person's, but: %v", err)
			}
			if err := theOperator(t).Patch(t.Context(), s.DeepCopy(), off); err != nil {
				t.Errorf("the operator does, but: %v", err)
			}
		})
	}
}

// TestSecretPolicyOfADyingNamespace is that a namespace can end that takes the operator's rights in it along.
func TestSecretPolicyOfADyingNamespace(t *testing.T) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "last", Finalizers: []string{v1alpha1.FinalizerDisconnect}}}
	mustCreate(t, env.Client, s)
	argocd := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}}
	if err := env.Client.Delete(t.Context(), argocd); err != nil {
		t.Fatal(err)
	}
	off := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	testenv.Eventually(t, func() error { return client.IgnoreNotFound(env.Client.Patch(t.Context(), s.DeepCopy(), off)) })
	// Back for the other tests, once it has ended.
	testenv.Eventually(t, func() error {
		return env.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}})
	})
	if out, err := env.Kubectl(t.Context(), "apply", "--server-side", "-f", filepath.Join(env.Root, "deploy", "rbac")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
