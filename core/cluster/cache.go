// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// labelApp tells the pods of runs from others. The Job's pod template has it.
const (
	labelApp = "app.kubernetes.io/name"
	appBuild = "infrared-build"
)

// CacheOptions is what the manager's cache must hold for the reconciler: Clusters whole, claims, the Jobs and pods of runs, and of Secrets
// in our two namespaces the metadata alone.
func CacheOptions() cache.Options {
	ours := map[string]cache.Config{v1alpha1.Namespace: {}, v1alpha1.ArgoNamespace: {}}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			// managedFields tell when a deletion was confirmed.
			&v1alpha1.Cluster{}: {Transform: func(obj any) (any, error) { return obj, nil }},
			&corev1.Secret{}:    {Namespaces: ours},
			&corev1.ConfigMap{}: {Namespaces: infraredOnly(), Label: having(v1alpha1.LabelClaim)},
			&batchv1.Job{}:      {Namespaces: infraredOnly(), Label: having(v1alpha1.LabelBuild)},
			&corev1.Pod{}:       {Namespaces: infraredOnly(), Label: labels.SelectorFromSet(labels.Set{labelApp: appBuild})},
		},
	}
}

func infraredOnly() map[string]cache.Config {
	return map[string]cache.Config{v1alpha1.Namespace: {}}
}

// having selects what has a label, whatever its value.
func having(label string) labels.Selector {
	selector, err := labels.Parse(label)
	if err != nil {
		panic(err) // a constant
	}
	return selector
}

// RunsCache makes the cache of what runs write down, as metadata: the records hold whole logs. It is one of its own, because a cache has one
// selector a kind, and the manager's has the claims.
func RunsCache(conf *rest.Config, scheme *runtime.Scheme) (cache.Cache, error) {
	runs, err := cache.New(conf, cache.Options{
		Scheme:           scheme,
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: {Namespaces: infraredOnly(), Label: having(v1alpha1.LabelBuild)},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of runs: %w", err)
	}
	return runs, nil
}

// ClientOptions keeps the content of Secrets out of the manager's cache.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

// CacheSynced is ready once the reconciler's objects are in the cache.
func CacheSynced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the cache is still filling")
		}
		return nil
	}
}
