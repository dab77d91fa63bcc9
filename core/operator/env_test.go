// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
)

// The tests of this package take API servers down, count their requests or wait for silence, so that each has a management
// cluster of its own.
func TestMain(m *testing.M) {
	testenv.Quiet()
	code := m.Run()
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	os.Exit(code)
}

// world is a management cluster and what people do on it.
type world struct {
	*testenv.Env
	ca *testcluster.CA
}

func newWorld(t testing.TB) *world {
	t.Helper()
	ca, err := testcluster.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	return &world{Env: testenv.New(t), ca: ca}
}

// start starts an API server of a cluster to register. All of a world share an authority.
func (w *world) start() (*testcluster.Server, error) {
	return testcluster.New(testcluster.Options{CA: w.ca})
}

// begin asks for a cluster to be registered. What is there already is fine.
func (w *world) begin(ctx context.Context, name string, wc *testcluster.Server) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name + "-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": wc.Kubeconfig(testcluster.KubeconfigOptions{})},
	}
	if err := client.IgnoreAlreadyExists(w.Client.Create(ctx, secret)); err != nil {
		return err
	}
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{Connection: &v1alpha1.Connection{
			KubeconfigSecretRef: v1alpha1.SecretKeyRef{Name: secret.Name},
		}},
	}
	return client.IgnoreAlreadyExists(w.Client.Create(ctx, cluster))
}

// registered is nil when a cluster is connected and Argo CD's Secret has been written, with the right content.
func (w *world) registered(ctx context.Context, name string, wc *testcluster.Server) error {
	cluster, err := w.cluster(ctx, name)
	if err != nil {
		return err
	}
	if err := has(cluster, v1alpha1.ConditionConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected); err != nil {
		return err
	}
	if err := has(cluster, v1alpha1.ConditionRegistered, metav1.ConditionFalse, v1alpha1.ReasonAppOfAppsMissing); err != nil {
		return err
	}
	return w.argoSecret(ctx, name, wc)
}

// argoSecret is nil when Argo CD's Secret of the cluster says what it should.
func (w *world) argoSecret(ctx context.Context, name string, wc *testcluster.Server) error {
	secret, err := w.secret(ctx, v1alpha1.ArgoNamespace, v1alpha1.ArgoSecretName(name))
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`{"bearerToken":"S3CR3T.abc","tlsClientConfig":{"insecure":false,"caData":%q}}`, base64Of(wc.CA().PEM()))
	want := map[string][]byte{"name": []byte(name), "server": []byte(wc.URL()), "config": []byte(config)}
	if diff := cmp.Diff(want, secret.Data); diff != "" {
		return fmt.Errorf("secret %s (-want +got):\n%s", secret.Name, diff)
	}
	if secret.Labels["argocd.argoproj.io/secret-type"] != "cluster" {
		return fmt.Errorf("secret %s: Argo CD does not see it with labels %v", secret.Name, secret.Labels)
	}
	return nil
}

// register is begin, and waits for its end.
func (w *world) register(ctx context.Context, name string, wc *testcluster.Server) error {
	err := testenv.Poll(ctx, func() error { return w.begin(ctx, name, wc) })
	if err != nil {
		return fmt.Errorf("asking for %s: %w", name, err)
	}
	if err := testenv.Poll(ctx, func() error { return w.registered(ctx, name, wc) }); err != nil {
		return fmt.Errorf("registering %s: %w", name, err)
	}
	return nil
}

// letGo confirms and asks for the deletion of a cluster, and waits until it is gone.
func (w *world) letGo(ctx context.Context, name string) error {
	err := testenv.Poll(ctx, func() error {
		cluster, err := w.cluster(ctx, name)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		if !cluster.DeletionTimestamp.IsZero() {
			return fmt.Errorf("it is there, its deletion is at %+v", cluster.Status.Deletion)
		}
		if err := w.confirm(ctx, cluster); err != nil {
			return err
		}
		if err := client.IgnoreNotFound(w.Client.Delete(ctx, cluster)); err != nil {
			return err
		}
		return errors.New("it was asked to go just now")
	})
	if err != nil {
		return fmt.Errorf("letting %s go: %w", name, err)
	}
	return nil
}

func (w *world) confirm(ctx context.Context, cluster *v1alpha1.Cluster) error {
	before := cluster.DeepCopy()
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, v1alpha1.AnnotationConfirmDelete, cluster.Name)
	return w.Client.Patch(ctx, cluster, client.MergeFrom(before))
}

func (w *world) cluster(ctx context.Context, name string) (*v1alpha1.Cluster, error) {
	var cluster v1alpha1.Cluster
	err := w.Client.Get(ctx, types.NamespacedName{Name: name}, &cluster)
	return &cluster, err
}

func (w *world) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := w.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &secret)
	return &secret, err
}

// versions are the resourceVersions of all objects of these kinds, by kind and name.
func (w *world) versions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterList{}, &v1alpha1.DeletionRecordList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.EventList{},
	} {
		kind := fmt.Sprintf("%T ", list)
		if err := w.Client.List(ctx, list); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, objectVersion(func(obj client.Object) {
			versions[kind+client.ObjectKeyFromObject(obj).String()] = obj.GetResourceVersion()
		}))
		if err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// has is nil when the cluster's condition is as wanted.
func has(cluster *v1alpha1.Cluster, condition string, status metav1.ConditionStatus, reason string) error {
	found := meta.FindStatusCondition(cluster.Status.Conditions, condition)
	switch {
	case found == nil:
		return fmt.Errorf("%s has no condition %s", cluster.Name, condition)
	case found.Status != status || found.Reason != reason:
		return fmt.Errorf("%s: %s is %s %s: %s", cluster.Name, condition, found.Status, found.Reason, found.Message)
	}
	return nil
}

// settled waits until two looks at the versions, a while apart, see the same, and returns them.
func (w *world) settled(ctx context.Context, t testing.TB, quiet func() error) map[string]string {
	t.Helper()
	var last map[string]string
	err := testenv.Poll(ctx, func() error {
		now, err := w.versions(ctx)
		if err != nil {
			return err
		}
		before := last
		last = now
		if !maps.Equal(before, now) {
			return errors.New("objects still change: " + cmp.Diff(before, now))
		}
		return quiet()
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}
