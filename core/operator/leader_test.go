// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/hack/killproxy"
	"darkshift.io/infrared/internal/testenv"
)

// TestLeaderKilled kills the leading one of two operators in the middle of its work, once while it registers a cluster and once
// while it lets it go. The other one takes over and finishes.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	life := newLife(t, w)
	ctx := patience(t)

	first := replica(t, w)
	leader(ctx, t, w, "")
	second := replica(t, w)
	if err := life.prepare(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := w.register(ctx, bystander, life.bystander); err != nil {
		t.Fatal(err)
	}
	var err error
	if life.before, err = life.bystanderState(ctx); err != nil {
		t.Fatal(err)
	}

	was := leader(ctx, t, w, "")
	first.killAt(killproxy.Write{Verb: "apply", Path: "/api/v1/namespaces/argocd/secrets/{name}"}, killproxy.After)
	if err := w.register(ctx, clusterOf(1), life.wc); err != nil {
		t.Fatal(err)
	}
	first.mustBeDead(t)

	was = leader(ctx, t, w, was)
	replica(t, w)
	second.killAt(killproxy.Write{Verb: "delete", Path: "/api/v1/namespaces/argocd/secrets/{name}"}, killproxy.After)
	if err := w.letGo(ctx, clusterOf(1)); err != nil {
		t.Fatal(err)
	}
	second.mustBeDead(t)
	leader(ctx, t, w, was)

	end, err := life.end(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goodEnd, strings.Split(end, "\n")); diff != "" {
		t.Errorf("the end (-want +got):\n%s", diff)
	}
}

// killable is an operator that takes part in leader election, behind a proxy of its own.
type killable struct {
	*process
	proxy *killproxy.Proxy
}

func replica(t *testing.T, w *world) *killable {
	t.Helper()
	proxy := newProxy(t, w)
	command := operatorCommand(t, proxyKubeconfig(t, w, proxy), "--leader-elect=true", "--metrics-bind-address=0")
	return &killable{process: run(t, command()), proxy: proxy}
}

func (k *killable) killAt(write killproxy.Write, when killproxy.When) {
	k.proxy.ArmAt(write, when, k.kill)
}

// mustBeDead fails the test where the kill did not happen, and so proved nothing.
func (k *killable) mustBeDead(t *testing.T) {
	t.Helper()
	if _, fired := k.proxy.Fired(); !fired {
		t.Error("the work was done, and not by the leader that was to be killed")
	}
}

// leader waits until somebody else leads than before, and returns who.
func leader(ctx context.Context, t *testing.T, w *world, before string) string {
	t.Helper()
	now := ""
	err := testenv.Poll(ctx, func() error {
		var lease coordinationv1.Lease
		key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: "infrared-operator"}
		if err := w.Client.Get(ctx, key, &lease); err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || *lease.Spec.HolderIdentity == before {
			return errors.New("nobody else leads")
		}
		now = *lease.Spec.HolderIdentity
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return now
}
