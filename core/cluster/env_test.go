// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap/zapcore"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
)

var env *testenv.Env

// operatorLog is all that the operators of these tests log, at the level that says most.
var operatorLog = &transcript{}

func TestMain(m *testing.M) {
	// The first logger stays, so this one goes before testenv's.
	log.SetLogger(zap.New(zap.WriteTo(operatorLog), zap.Level(zapcore.DebugLevel)))
	// Cases mostly wait, so many can run at once on a small machine.
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	os.Exit(testenv.Main(m, &env))
}

// transcript is a log in memory.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// linesWith are the lines of the log with a word.
func (l *transcript) linesWith(word string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}

// workload is a Cluster that names a kubeconfig Secret after itself.
func workload(name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{Connection: &v1alpha1.Connection{
			KubeconfigSecretRef: v1alpha1.SecretKeyRef{Name: name + "-kubeconfig"},
		}},
	}
}

// kubeconfigSecret is the Secret that workload names.
func kubeconfigSecret(cluster string, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: cluster + "-kubeconfig"},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
}

// register makes a Cluster and its kubeconfig Secret, and lets it go at the end of the test.
func register(t *testing.T, name string, kubeconfig []byte, change ...func(*v1alpha1.Cluster)) {
	t.Helper()
	create(t, kubeconfigSecret(name, kubeconfig))
	c := workload(name)
	for _, f := range change {
		f(c)
	}
	create(t, c)
	t.Cleanup(func() { letGo(t, name) })
}

func create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := env.Client.Create(t.Context(), obj); err != nil {
		t.Fatalf("creating %T %s: %v", obj, obj.GetName(), err)
	}
}

// letGo confirms and deletes a Cluster, and waits until it is gone; one that isn't there is fine.
func letGo(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	err := testenv.Poll(ctx, func() error {
		var c v1alpha1.Cluster
		if err := env.Client.Get(ctx, types.NamespacedName{Name: name}, &c); err != nil {
			return client.IgnoreNotFound(err)
		}
		if c.DeletionTimestamp.IsZero() {
			before := c.DeepCopy()
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.AnnotationConfirmDelete, name)
			if err := env.Client.Patch(ctx, &c, client.MergeFrom(before), client.FieldOwner("kubectl-annotate")); err != nil {
				return err
			}
			if err := env.Client.Delete(ctx, &c); err != nil {
				return err
			}
		}
		return fmt.Errorf("cluster %s is there: %+v", name, c.Status.Deletion)
	})
	if err != nil {
		t.Errorf("letting %s go: %v", name, err)
	}
}

func getCluster(name string) (*v1alpha1.Cluster, error) {
	var c v1alpha1.Cluster
	err := env.Client.Get(context.Background(), types.NamespacedName{Name: name}, &c)
	return &c, err
}

func getSecret(namespace, name string) (*corev1.Secret, error) {
	var s corev1.Secret
	err := env.Client.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, &s)
	return &s, err
}

// has is nil when a Cluster's condition has the status and reason, and a message with the words.
func has(name, condition string, status metav1.ConditionStatus, reason string, words ...string) func() error {
	return func() error {
		c, err := getCluster(name)
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(c.Status.Conditions, condition)
		if found == nil {
			return fmt.Errorf("no condition %s", condition)
		}
		if found.Status != status || found.Reason != reason {
			return fmt.Errorf("%s is %s %s: %s", condition, found.Status, found.Reason, found.Message)
		}
		for _, word := range words {
			if !strings.Contains(found.Message, word) {
				return fmt.Errorf("%q is not in %q", word, found.Message)
			}
		}
		return nil
	}
}

// absent is nil when the Secret is not there.
func absent(namespace, name string) func() error {
	return func() error {
		_, err := getSecret(namespace, name)
		if err == nil {
			return errors.New("Secret " + namespace + "/" + name + " is there")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}
}

// start is a workload cluster's API server.
func start(t *testing.T, opts testcluster.Options) *testcluster.Server {
	t.Helper()
	return testcluster.Start(t, opts)
}
