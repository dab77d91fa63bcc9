// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// Check is one promise of the contract and how it is looked at.
type Check struct {
	// Name is the promise's name in docs/contract.md, Sentence what it says there.
	Name, Sentence string

	needs []need
	run   func(ctx context.Context, b *bench)
}

// Outcome is what a check came to. It is passed where both lists are empty.
type Outcome struct {
	// Name is the check's.
	Name string
	// Lacks is what the world had to have for the check, and has not: the check did not run.
	Lacks []string
	// Breaches are what broke the promise, in words.
	Breaches []string
}

// need is the name of something that a check needs, and whether a world has it.
type need struct {
	name string
	has  func(b *bench) bool
}

// Checks lists all checks, in the order of the contract.
func Checks() []Check {
	return slices.Concat(everyVerb(), attribution(), unknowns(), connecting(), building(), snapshotting(), findings(), failing(), accounts(), facts())
}

// Test runs all checks, each as a subtest under its name, and logs which did not run and what they lack. It returns what
// came of each, for an author who wants to be sure that a check did run.
func Test(t *testing.T, c Config) []Outcome {
	t.Helper()
	subject, err := open(t.Context(), c)
	if err != nil {
		t.Fatalf("starting the provider: %v", err)
	}
	t.Cleanup(func() { subject.close(t.Context()) })
	var all []Outcome
	for _, check := range Checks() {
		at, outcome := subject.prepare(t.Context(), check)
		if len(outcome.Lacks) == 0 {
			t.Run(check.Name, func(t *testing.T) {
				outcome = at.run(t.Context(), check, outcome)
				for _, breach := range outcome.Breaches {
					t.Errorf("%s\nbut: %s", check.Sentence, breach)
				}
			})
		}
		at.close()
		all = append(all, outcome)
	}
	for _, outcome := range all {
		if len(outcome.Lacks) > 0 {
			t.Logf("not run: %s: the world has no %s", outcome.Name, strings.Join(outcome.Lacks, ", "))
		}
	}
	return all
}

// Run runs all checks outside of a test.
func Run(ctx context.Context, c Config) ([]Outcome, error) {
	subject, err := open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer subject.close(ctx)
	var all []Outcome
	for _, check := range Checks() {
		at, outcome := subject.prepare(ctx, check)
		if len(outcome.Lacks) == 0 {
			outcome = at.run(ctx, check, outcome)
		}
		at.close()
		all = append(all, outcome)
	}
	return all, nil
}

// subject is the provider under test.
type subject struct {
	config Config
	facts  provider.Facts
	// running is the plugin of Config.Binary; nil where worlds bring their own provider.
	running *program
}

func open(ctx context.Context, c Config) (*subject, error) {
	c.Soon = cmp.Or(c.Soon, 5*time.Second)
	c.Patience = cmp.Or(c.Patience, time.Minute)
	c.Pace = cmp.Or(c.Pace, time.Second)
	s := &subject{config: c, facts: c.Facts}
	if c.Binary == "" {
		return s, nil
	}
	running, err := start(ctx, c)
	if err != nil {
		return nil, err
	}
	s.running, s.facts = running, running.plugin.Description().Facts
	return s, nil
}

func (s *subject) close(ctx context.Context) {
	if s.running != nil {
		s.running.stop(ctx)
	}
}

// prepare makes a world for one check. The outcome says what the world lacks for it, or why there is none.
func (s *subject) prepare(ctx context.Context, check Check) (*bench, Outcome) {
	outcome := Outcome{Name: check.Name}
	b := &bench{facts: s.facts, soon: s.config.Soon, patience: s.config.Patience, pace: s.config.Pace}
	world, err := s.config.World(ctx)
	if err != nil {
		outcome.Breaches = []string{fmt.Sprintf("no world could be made: %v", err)}
		return b, outcome
	}
	b.World = world
	if s.running != nil {
		b.restart = func(ctx context.Context) (*program, error) { return start(ctx, s.config) }
		world.Again = b.again
		world.Provider, world.Output = s.running.plugin.Provider(), s.running.output.String
	}
	if world.Provider == nil {
		outcome.Breaches = []string{"the world has no Provider, and Config no Binary"}
		return b, outcome
	}
	for _, n := range check.needs {
		if !n.has(b) {
			outcome.Lacks = append(outcome.Lacks, n.name)
		}
	}
	return b, outcome
}

// run runs the check. What it began ends with it.
func (b *bench) run(ctx context.Context, check Check, outcome Outcome) Outcome {
	if len(outcome.Breaches) > 0 {
		return outcome
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		for _, running := range b.others {
			running.stop(ctx)
		}
	}()
	check.run(ctx, b)
	outcome.Breaches = b.breaches
	return outcome
}

// again starts the program once more, until the check ends.
func (b *bench) again(ctx context.Context) (provider.Provider, error) {
	running, err := b.restart(ctx)
	if err != nil {
		return nil, err
	}
	b.others = append(b.others, running)
	return running.plugin.Provider(), nil
}

// close takes the world away.
func (b *bench) close() {
	if b.World != nil && b.Close != nil {
		b.Close()
	}
}
