// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Quiet()
	os.Exit(m.Run())
}

// lanes is how many lives go on at a time. mostLives is how many of them may be needed until somebody was killed at each write.
const (
	lanes     = 2
	mostLives = 12
)

// TestLives lives one life without a kill, and then lives in which somebody is killed at each write of that one. They share a world,
// since making one takes a while.
func TestLives(t *testing.T) {
	w := newWorld(t, lanes)
	if !t.Run("Life", func(t *testing.T) { testLife(t, w) }) {
		return
	}
	t.Run("Kills", func(t *testing.T) { testKills(t, w) })
	for _, s := range []*service{w.operator, w.node, w.cloud} {
		for _, fell := range s.falls() {
			t.Error(fell)
		}
	}
}

// testLife lives a life in which nothing happens.
func testLife(t *testing.T, w *world) {
	ctx, cancel := limit(t.Context(), 5)
	defer cancel()
	l := w.newLife(0, "edge0")
	for _, step := range l.steps() {
		if err := step.do(ctx); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if step.name == "connect" {
			w.mustNotice(ctx, t, l)
		}
	}
	if l.again > 0 || l.left > 0 {
		t.Errorf("%d runs had to be begun again, and %d things are left", l.again, l.left)
	}
	w.noLeaks(ctx, t, l)
}

// mustNotice has the tests notice what they look for: a thing that nobody accounts for, and a word that stands everywhere.
func (w *world) mustNotice(ctx context.Context, t *testing.T, l *life) {
	t.Helper()
	c, err := l.cluster(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stray := w.path("cloud", "things", "disk.stray.json")
	text := fmt.Sprintf(`{"id":"disk/stray","kind":"disk","name":"stray","labels":{%q:%q}}`, v1alpha1.LabelIncarnation, c.Spec.Incarnation)
	if err := os.WriteFile(stray, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.accounted = ""
	if err := l.account(ctx, c); err == nil || !strings.Contains(err.Error(), "disk/stray") {
		t.Errorf("a thing that nobody knows of: %v", err)
	}
	if err := os.Remove(stray); err != nil {
		t.Fatal(err)
	}
	found, err := w.leaks(ctx, []string{l.name})
	if err != nil || len(found) < 10 {
		t.Errorf("the Cluster's name is found in %v (%v)", found, err)
	}
}

// noLeaks looks for secrets wherever there should be none.
func (w *world) noLeaks(ctx context.Context, t testing.TB, lives ...*life) {
	t.Helper()
	secrets := []string{cloudToken}
	for _, l := range lives {
		secrets = append(secrets, l.tokens...)
	}
	leaks, err := w.leaks(ctx, secrets)
	if err != nil {
		t.Error(err)
	}
	for _, leak := range leaks {
		t.Error(leak)
	}
}

// testKills kills one of the programs before and after each write of the first life; all of them, one after the other, where
// EVERY_VICTIM is set, as make kills does.
func testKills(t *testing.T, w *world) {
	every := os.Getenv("EVERY_VICTIM") != ""
	w.killer.want(w.newLife(0, "").name, every)
	minutes, most := 10, mostLives
	if every {
		minutes, most = 60, 100
	}
	lives := w.liveBeside(t, minutes, func(number int) bool { return number <= most && len(w.killer.left()) > 0 })
	t.Logf("%d lives\n%s", len(lives), w.killer.table())
	left := w.killer.left()
	if every {
		t.Logf("at these writes those programs never lived:\n%s", strings.Join(left, "\n"))
	} else {
		for _, point := range left {
			t.Errorf("nobody was killed %s", point)
		}
	}
	died := w.killer.died()
	for _, v := range victims() {
		if died[v] == 0 {
			t.Errorf("%s was never killed", v)
		}
	}
	for _, problem := range w.killer.problems {
		t.Error(problem)
	}
	ctx, cancel := limit(t.Context(), 2)
	defer cancel()
	w.noLeaks(ctx, t, lives...)
}

// liveBeside lives lives beside each other, each on an edge of its own, as long as there is to be another one.
func (w *world) liveBeside(t testing.TB, minutes int, another func(number int) bool) []*life {
	var next atomic.Int32
	var mu sync.Mutex
	var all []*life
	var beside sync.WaitGroup
	for edge := range w.edges {
		beside.Go(func() {
			for {
				number := int(next.Add(1))
				if !another(number) || t.Context().Err() != nil {
					return
				}
				l := w.newLife(number, edge)
				w.killer.mayKill(l.name)
				mu.Lock()
				all = append(all, l)
				mu.Unlock()
				ctx, cancel := limit(t.Context(), minutes)
				err := l.live(ctx)
				cancel()
				if err != nil {
					t.Errorf("life %v", err)
					return // its edge is not free
				}
			}
		})
	}
	beside.Wait()
	return all
}
