// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testenv"
)

var env *testenv.Env

func TestMain(m *testing.M) { os.Exit(testenv.Main(m, &env)) }

// clientAs is a client of another user, in groups beside system:authenticated.
func clientAs(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(env.Admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	c, err := client.New(config, client.Options{Scheme: env.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// theOperator is a client of infrared-operator's own user, with its rights.
func theOperator(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(env.Operator, client.Options{Scheme: env.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// registered is a Cluster with a connection.
func registered(name string) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{Connection: &v1alpha1.Connection{
			KubeconfigSecretRef: v1alpha1.SecretKeyRef{Name: "some-kubeconfig"},
		}},
	}
}

// refusedBy is nil when err is a refusal with all of these words.
func refusedBy(err error, words ...string) error {
	if err == nil {
		return errors.New("it was accepted")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			return fmt.Errorf("%q is not in %w", word, err)
		}
	}
	return nil
}
