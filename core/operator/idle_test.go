// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
)

const (
	idleClusters = 200
	idleWindow   = 2 * time.Minute
	// idleLook is short, so that the window holds a dozen looks at each cluster instead of none.
	idleLook = 10 * time.Second
)

// TestIdle is that clusters that are well cost no write at all, however often they are looked at.
func TestIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	servers := w.startMany(t, idleClusters)
	ctx, cancel := context.WithTimeout(t.Context(), 2*idleWindow+4*testenv.Patience)
	defer cancel()
	began := time.Now()
	// Looking this often at those that are there already would slow down registering the rest.
	stop := w.RunOperator(t)
	if err := w.registerMany(ctx, "idle", servers); err != nil {
		t.Fatal(err)
	}
	stop()
	t.Logf("registered %d clusters in %s", len(servers), time.Since(began).Round(time.Second))
	w.RunOperator(t, func(o *operator.Options) { o.LookEvery = idleLook })

	before := w.settled(ctx, t, func() error {
		writes, err := w.operatorWrites(time.Now().Add(-5 * time.Second))
		if err == nil && len(writes) > 0 {
			err = fmt.Errorf("the operator still writes: %v", writes[0])
		}
		return err
	})
	start, asked := time.Now(), requests(servers)
	over := time.NewTimer(idleWindow)
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	}
	looks := (requests(servers) - asked) / (idleClusters * requestsALook)
	t.Logf("%d looks at each cluster in %s", looks, idleWindow)
	if looks < 5 {
		t.Errorf("want at least 5 looks at each cluster, or nothing is proved; got %d", looks)
	}
	after, err := w.versions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("objects changed (-before +after):\n%s", diff)
	}
	writes, err := w.operatorWrites(start)
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range writes {
		t.Errorf("the operator wrote: %s %s", write.Verb, write.Path)
	}
}

// requestsALook is what one look asks: the version, the nodes, the namespace kube-system.
const requestsALook = 3

// operatorWrites are the operator's requests since then that were to change something.
func (w *world) operatorWrites(since time.Time) ([]testenv.Request, error) {
	all, err := w.Requests(v1alpha1.OperatorUser, since)
	var writes []testenv.Request
	for _, r := range all {
		if r.Writes() {
			writes = append(writes, r)
		}
	}
	return writes, err
}

// startMany starts the API servers of many clusters.
func (w *world) startMany(t testing.TB, n int) []*testcluster.Server {
	t.Helper()
	servers := make([]*testcluster.Server, n)
	for i := range servers {
		var err error
		if servers[i], err = w.start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Close)
	}
	return servers
}

// registerMany asks for all of them at once, as <prefix>-<n>, and waits until all are registered.
func (w *world) registerMany(ctx context.Context, prefix string, servers []*testcluster.Server) error {
	err := each(len(servers), func(i int) error { return w.begin(ctx, nth(prefix, i), servers[i]) })
	if err != nil {
		return err
	}
	return each(len(servers), func(i int) error {
		return testenv.Poll(ctx, func() error { return w.registered(ctx, nth(prefix, i), servers[i]) })
	})
}

// letManyGo lets n clusters go at once.
func (w *world) letManyGo(ctx context.Context, prefix string, n int) error {
	return each(n, func(i int) error { return w.letGo(ctx, nth(prefix, i)) })
}

// each calls do for the numbers below n, a few at a time.
func each(n int, do func(int) error) error {
	const atOnce = 8
	errs := make([]error, n)
	var all sync.WaitGroup
	for worker := range atOnce {
		all.Go(func() {
			for i := worker; i < n; i += atOnce {
				errs[i] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func nth(prefix string, n int) string { return fmt.Sprintf("%s-%d", prefix, n) }

// requests is how many requests the servers got in all.
func requests(servers []*testcluster.Server) int {
	sum := 0
	for _, s := range servers {
		sum += s.RequestCount()
	}
	return sum
}
