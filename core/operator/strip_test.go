// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/kubeconfig"
)

// TestStrip takes the marks of the operator off everything that has them, as the operator's own user since the policies refuse
// anybody else. They come back, and the deletion then still finds all.
func TestStrip(t *testing.T) {
	t.Parallel()
	const (
		finalizers = `{"metadata":{"finalizers":null}}`
		labels     = `{"metadata":{"labels":null}}`
		owners     = `{"metadata":{"ownerReferences":null}}`
		all        = `{"metadata":{"finalizers":null,"labels":null,"ownerReferences":null}}`
	)
	cases := map[string]struct {
		reason string
		patch  string
		dead   bool
	}{
		"Finalizers":            {reason: "without them a deletion would remove things in any order", patch: finalizers},
		"Labels":                {reason: "they tell which incarnation a thing belongs to", patch: labels},
		"OwnerReferences":       {reason: "they are what garbage collection goes by", patch: owners},
		"All":                   {reason: "somebody restored the objects without their metadata", patch: all},
		"FinalizersUnreachable": {reason: "what is kept on the management cluster does not depend on the cluster", patch: finalizers, dead: true},
		"LabelsUnreachable":     {reason: "nor do labels", patch: labels, dead: true},
		"OwnersUnreachable":     {reason: "nor do owner references", patch: owners, dead: true},
		"AllUnreachable":        {reason: "nor all of it", patch: all, dead: true},
	}
	w := newWorld(t)
	w.RunOperator(t, func(o *operator.Options) { o.LookEvery = time.Second })
	asOperator, err := client.New(w.Operator, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	for name, tc := range cases {
		number++
		cluster := nth("strip", number)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := patience(t)
			wc := w.registerOne(ctx, t, cluster)
			if tc.dead {
				wc.Close()
				w.mustBecome(ctx, t, cluster, v1alpha1.ReasonUnreachable)
			}
			want, err := w.marks(ctx, cluster, wc)
			if err != nil {
				t.Fatal(err)
			}
			for _, obj := range w.marked(ctx, t, cluster) {
				if err := asOperator.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(tc.patch))); err != nil {
					t.Fatal(err)
				}
			}
			err = testenv.Poll(ctx, func() error {
				got, err := w.marks(ctx, cluster, wc)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want, got); diff != "" {
					return errors.New("-want +got:\n" + diff)
				}
				return nil
			})
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if err := w.letGo(ctx, cluster); err != nil {
				t.Fatal(err)
			}
			left, err := (&life{w: w}).left(ctx, cluster)
			if err != nil {
				t.Fatal(err)
			}
			if left != "nothing" {
				t.Errorf("the deletion left %s", left)
			}
		})
	}
}

// registerOne registers a cluster of its own.
func (w *world) registerOne(ctx context.Context, t testing.TB, name string) *testcluster.Server {
	t.Helper()
	wc, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wc.Close)
	if err := w.register(ctx, name, wc); err != nil {
		t.Fatal(err)
	}
	return wc
}

// marked are the objects of a Cluster that carry marks: itself, its Secrets, its claims.
func (w *world) marked(ctx context.Context, t testing.TB, name string) []client.Object {
	t.Helper()
	objects := []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name + "-kubeconfig"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ArgoNamespace, Name: v1alpha1.ArgoSecretName(name)}},
		&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}},
	}
	var claims corev1.ConfigMapList
	if err := w.Client.List(ctx, &claims, client.MatchingLabels{v1alpha1.LabelCluster: name}); err != nil {
		t.Fatal(err)
	}
	if len(claims.Items) != 2 {
		t.Fatalf("want 2 claims of %s, its address and its kube-system; got %d", name, len(claims.Items))
	}
	for i := range claims.Items {
		objects = append(objects, &claims.Items[i])
	}
	return objects
}

// marks are the finalizers, labels and owners of a Cluster's objects, its claims by what they claim.
func (w *world) marks(ctx context.Context, name string, wc *testcluster.Server) (map[string]string, error) {
	cluster, err := w.cluster(ctx, name)
	if err != nil {
		return nil, err
	}
	marks := map[string]string{name: fmt.Sprint(cluster.Finalizers)}
	for _, namespace := range []string{v1alpha1.Namespace, v1alpha1.ArgoNamespace} {
		secretName := name + "-kubeconfig"
		if namespace == v1alpha1.ArgoNamespace {
			secretName = v1alpha1.ArgoSecretName(name)
		}
		secret, err := w.secret(ctx, namespace, secretName)
		if err != nil {
			return nil, err
		}
		marks[secretName] = marksOf(secret)
	}
	var claims corev1.ConfigMapList
	if err := w.Client.List(ctx, &claims, client.InNamespace(v1alpha1.Namespace)); err != nil {
		return nil, err
	}
	for i := range claims.Items {
		value := claims.Items[i].Data["value"]
		if value == wc.Behaviour().UID || value == kubeconfig.ServerKey(wc.URL()) {
			marks["claim of "+claims.Items[i].Data["kind"]] = marksOf(&claims.Items[i])
		}
	}
	return marks, nil
}

func marksOf(obj client.Object) string {
	text := fmt.Sprint(obj.GetFinalizers(), obj.GetLabels())
	for _, ref := range obj.GetOwnerReferences() {
		text += fmt.Sprint(" ", ref.APIVersion, ref.Kind, ref.Name, ref.UID)
	}
	return text
}
