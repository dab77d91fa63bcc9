// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux && soak

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSoak kills KILLS times whatever program, whenever, over as many lives as that takes. SEED makes the same choices again, which with real
// processes is not the same run again.
func TestSoak(t *testing.T) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("KILLS"), "0"))
	if err != nil {
		t.Fatalf("KILLS has to be a number: %v", err)
	}
	if kills == 0 {
		t.Fatal("KILLS has to be a number above 0")
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("SEED"), strconv.FormatInt(time.Now().UnixNano(), 10)), 10, 64)
	if err != nil {
		t.Fatalf("SEED has to be a number: %v", err)
	}
	w := newWorld(t, 3)
	s := &soak{world: w, random: rand.New(rand.NewPCG(seed, seed)), died: map[string]int{}} //nolint:gosec // to be had again
	ctx, cancel := context.WithCancel(t.Context())
	var killing sync.WaitGroup
	killing.Go(func() { s.run(ctx, kills) })
	lives := w.liveBeside(t, 60, func(number int) bool { s.begin(w.newLife(number, "").name); return w.killer.count() < kills })
	cancel()
	killing.Wait()

	again, left := 0, 0
	for _, l := range lives {
		again, left = again+l.again, left+l.left
	}
	t.Logf("seed %d: %d kills over %d lives, %d runs begun again, %d things left behind and listed\n%s", seed, w.killer.count(), len(lives), again, left, s.counts())
	w.noLeaks(t.Context(), t, lives...)
	for _, problem := range w.killer.problems {
		t.Error(problem)
	}
}

// soak kills at random.
type soak struct {
	world  *world
	random *rand.Rand

	mu    sync.Mutex
	lives []string
	died  map[string]int
}

func (s *soak) begin(life string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives = append(s.lives, life)
}

// run kills until so many have been killed. On average a life, which takes half a minute, sees several kills, and comes to its end.
func (s *soak) run(ctx context.Context, kills int) {
	for s.world.killer.count() < kills {
		select {
		case <-time.After(time.Duration(s.random.IntN(4000)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
		victim, pid := s.choose()
		if victim != "" {
			s.world.killer.kill(victim, pid)
			s.mu.Lock()
			s.died[victim]++
			s.mu.Unlock()
		}
	}
}

// choose picks a program, and a life that has it.
func (s *soak) choose() (victim string, pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	victim = victims()[s.random.IntN(len(victims()))]
	if victim == victimOperator || victim == victimNode {
		return victim, 0
	}
	for _, i := range s.random.Perm(len(s.lives)) {
		if pid := podProcesses(s.lives[i])[victim]; pid != 0 {
			return victim, pid
		}
	}
	return "", 0
}

func (s *soak) counts() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for _, v := range victims() {
		fmt.Fprintf(&out, "%s killed %d times\n", v, s.died[v])
	}
	return out.String()
}
