// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/deletion"
)

// witness watches one Cluster and its kubeconfig Secret while things happen to them, and tells afterwards in which order.
type witness struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu sync.Mutex
	// disconnect is the resourceVersion of the first Cluster that was in the step Disconnect, and vanishing that of the first
	// Secret that was being deleted or gone; zero where it did not happen. One store numbers both.
	disconnect, vanishing int64
	states                []string
}

// watch begins to watch a cluster that isn't there yet.
func (w *world) watch(ctx context.Context, name string) (*witness, error) {
	seer, err := client.NewWithWatch(w.Admin, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	seen := &witness{stop: stop}
	err = seen.follow(ctx, seer, &v1alpha1.ClusterList{}, seen.cluster, named(name))
	if err == nil {
		err = seen.follow(ctx, seer, &corev1.SecretList{}, seen.secret, named(name+"-kubeconfig"), client.InNamespace(v1alpha1.Namespace))
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("watching %s: %w", name, err)
	}
	return seen, nil
}

func named(name string) client.ListOption {
	return client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name)}
}

func (s *witness) follow(ctx context.Context, seer client.WithWatch, list client.ObjectList, see func(watch.Event), which ...client.ListOption) error {
	watched, err := seer.Watch(ctx, list, which...)
	if err != nil {
		return err
	}
	s.done.Go(func() {
		defer watched.Stop()
		for {
			select {
			case event, ok := <-watched.ResultChan():
				if !ok {
					return
				}
				see(event)
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

func (s *witness) cluster(event watch.Event) {
	cluster, ok := event.Object.(*v1alpha1.Cluster)
	if !ok || cluster.Status.Deletion == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range cluster.Status.Deletion.Steps {
		if step.Name != deletion.StepDisconnect {
			continue
		}
		if s.disconnect == 0 {
			s.disconnect = version(cluster)
		}
		if n := len(s.states); n == 0 || s.states[n-1] != string(step.State) {
			s.states = append(s.states, string(step.State))
		}
	}
}

func (s *witness) secret(event watch.Event) {
	secret, ok := event.Object.(*corev1.Secret)
	if !ok || (event.Type != watch.Deleted && secret.DeletionTimestamp.IsZero()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vanishing == 0 {
		s.vanishing = version(secret)
	}
}

// verdict ends the watch and says what was seen.
func (s *witness) verdict() string {
	s.stop()
	s.done.Wait()
	order := "kubeconfig goes after Disconnect began"
	if s.vanishing <= s.disconnect {
		order = fmt.Sprintf("kubeconfig went at %d, Disconnect began at %d", s.vanishing, s.disconnect)
	}
	return order + ", Disconnect was " + strings.Join(s.states, " then ")
}

// version is the number of the write that made the object what it is.
func version(obj client.Object) int64 {
	n, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	return n
}
