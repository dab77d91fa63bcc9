// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
)

// fail has the runs of a Cluster be out of reach; nil: they are in reach again, and nobody tells.
func (h *hand) fail(name string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fails[name] = err
}

// runIs is nil when status.run says so.
func runIs(name string, action v1alpha1.Action, phase v1alpha1.RunPhase) func() error {
	return func() error {
		c, err := getCluster(name)
		if err == nil && (c.Status.Run == nil || c.Status.Run.Action != action || c.Status.Run.Phase != phase) {
			err = fmt.Errorf("status.run is %+v", c.Status.Run)
		}
		return err
	}
}

// TestGoesOnWithoutItsRuns is that a cluster that was built is kept connected while its runs can't be looked after, and that these are
// looked at again by themselves, also where what is missing is only not found.
func TestGoesOnWithoutItsRuns(t *testing.T) {
	h, a := withBuilds(t)
	const name = "apart"
	wc := builtCluster(t, h, name)
	first := tokenOf(t, name)
	h.fail(name, fmt.Errorf("reading it: %w", apierrors.NewNotFound(corev1.Resource("configmaps"), "ledger")))
	a.clock.SetTime(a.clock.Now().Add(25 * time.Hour)) // past half of the token's life
	eventually(t, func() error {
		poke(t, name)
		if tokenOf(t, name) == first {
			return errors.New("the token is not renewed")
		}
		return nil
	}, oneToken(name, wc))
	if err := has(name, "Connected", "True", v1alpha1.ReasonConnected)(); err != nil {
		t.Error(err)
	}
	if c, err := getCluster(name); err != nil || c.Status.Built == nil || c.Status.Run == nil || c.Status.Run.Action != v1alpha1.ActionApply {
		t.Errorf("what was known of the runs stays: %+v %v", c.Status, err)
	}
	turn := applied(wc)
	turn.Run = ran("plan", "Succeeded", "", "")
	h.mu.Lock()
	h.turns[name], h.fails[name] = turn, nil
	h.mu.Unlock()
	eventually(t, runIs(name, v1alpha1.ActionPlan, v1alpha1.RunSucceeded))
}

// TestConnectsAtTheEnd is that a cluster counts as built only when its apply has ended: the outputs are there a little before.
func TestConnectsAtTheEnd(t *testing.T) {
	h, a := withBuilds(t)
	const name = "nearly"
	wc, other := start(t, testcluster.Options{}), start(t, testcluster.Options{})
	cloudCredentials(t, name, goodCredentials)
	nearly := applied(wc)
	nearly.Run, nearly.Built = ran("apply", "Running", "", ""), nil
	h.turn(t, name, nearly)
	toBuild(t, name)
	eventually(t, has(name, "Connected", "Unknown", v1alpha1.ReasonBuilding, "OpenTofu builds the cluster"))
	if asked := a.requests(name); len(asked) > 0 {
		t.Errorf("the plugin was asked for a way into what is not built: %d requests", len(asked))
	}
	h.turn(t, name, applied(wc))
	eventually(t, has(name, "Connected", "True", v1alpha1.ReasonConnected), argoIs(name, wc))

	a.clock.SetTime(a.clock.Now().Add(time.Hour)) // long enough for another to be made, and too short for a renewal
	made := len(a.making(name))
	nearly = applied(other)
	nearly.Run = ran("apply", "Running", "", "")
	h.turn(t, name, nearly)
	eventually(t, runIs(name, v1alpha1.ActionApply, v1alpha1.RunRunning))
	if now := len(a.making(name)); now != made {
		t.Errorf("a way into the new cluster was asked for before its apply has ended: %d requests", now-made)
	}
	h.turn(t, name, applied(other))
	eventually(t, argoIs(name, other))
}
