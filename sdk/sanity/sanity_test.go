// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/fake"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/sanity"
)

// stage is one world over the cloud in memory, and what a broken provider needs to break it.
type stage struct {
	world  *sanity.World
	cloud  *fake.Cloud
	living fake.Living
	// good is the provider that keeps the contract, bad what is tested: good, but for what a row has replaced.
	good *fake.Provider
	bad  *twisted
	// again spoils another process, which is good otherwise.
	again func(*twisted)
	// printed is what the provider has printed.
	printed *lines
	// ended is closed with the world.
	ended chan struct{}
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(text + "\n")
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newStage() *stage {
	cloud := fake.NewCloud(fake.Options{Zones: []string{"fake-1a", "fake-1b"}, PageSize: 1, Settle: 3})
	access := cloud.AddAccount("account-1")
	living := cloud.AddCluster(access, provider.Cluster{Name: "living", Incarnation: "6f1c0e9e-92bd-4c3c-9f4b-3a0e3f1f9f10"})
	s := &stage{cloud: cloud, living: living, good: fake.New(cloud), printed: &lines{}, ended: make(chan struct{})}
	s.bad = &twisted{Provider: s.good}
	build := func(variables map[string]json.RawMessage) *provider.BuildRequest {
		return &provider.BuildRequest{
			Cluster:     provider.Cluster{Name: "built", Incarnation: "a3a37a0c-3a2f-4a9e-bf55-0d8c4f1e7b21", Template: fake.TemplateName},
			Credentials: access.Credentials, Variables: variables,
		}
	}
	neighbour := cloud.AddAccount("account-2")
	next := cloud.AddCluster(neighbour, provider.Cluster{Name: "neighbour", Incarnation: "77d1f2a0-0b0e-4a52-8a4c-6f3f7e1f4c55"})
	endpoint := living.Endpoint
	s.world = &sanity.World{
		Provider: s.bad, Cluster: living.Cluster, Identity: living.Identity, Credentials: access.Credentials,
		BadCredentials: provider.Credentials{Values: map[string]provider.Secret{fake.TokenName: provider.NewSecret("no-such-token")}},
		Connect:        &provider.ConnectRequest{Cluster: living.Cluster, Endpoint: &endpoint, Credentials: access.Credentials},
		Recorded:       living.Recorded,
		Disks:          living.Disks,
		Strange:        &provider.Disk{Volume: "strange", Claim: "data/strange", Driver: "nfs.example.com", Handle: "strange"},
		Tenant: &sanity.Tenant{
			Cluster: next.Cluster, Identity: next.Identity, Credentials: neighbour.Credentials, Recorded: next.Recorded,
		},
		Build:     build(nil),
		Rebuild:   build(map[string]json.RawMessage{"machine": json.RawMessage(`"large"`), "nodes": json.RawMessage("3")}),
		BadBuild:  build(map[string]json.RawMessage{"machine": json.RawMessage(`"huge"`)}),
		BadField:  "variables.machine",
		Reachable: true,
		Account:   &access.Account,
		Hooks:     s.hooks(access.Credentials),
	}
	for _, r := range living.Recorded {
		if r.Hourly == nil {
			s.world.Unpriced = append(s.world.Unpriced, r.ID)
		}
	}
	return s
}

func (s *stage) hooks(credentials provider.Credentials) sanity.Hooks {
	cloud := s.cloud
	return sanity.Hooks{
		Things: func(context.Context) (map[string]string, error) {
			all := map[string]string{"writes": fmt.Sprint(cloud.Writes())}
			for _, t := range cloud.Things() {
				all[t.ID] = fmt.Sprint(t.Kind, t.Name, t.Zone, t.Labels, t.Traits, t.State == fake.StateDeleting)
			}
			return all, nil
		},
		Remove: func(_ context.Context, r provider.Resource) error { cloud.Remove(r.ID); return nil },
		Delete: func(_ context.Context, r provider.Resource) error { cloud.BeginDelete(r.ID); return nil },
		Strangers: func(context.Context) (sanity.Strangers, error) {
			all := cloud.AddForeign(s.living)
			return sanity.Strangers{
				Cluster: []string{all[0].ID}, Incarnation: []string{all[1].ID}, Unused: []string{all[2].ID, all[3].ID},
			}, nil
		},
		Again: func(context.Context) (provider.Provider, error) {
			other := &twisted{Provider: fake.New(cloud)}
			if s.again != nil {
				s.again(other)
			}
			return other, nil
		},
		CanWrite: func(_ context.Context, c provider.Credentials) (bool, error) { return cloud.MayWrite(c), nil },
		Output:   s.printed.String,
		Close:    func() { close(s.ended) },
		Trouble: map[sanity.Trouble]func(context.Context) (func(), error){
			sanity.ZoneSilent:    s.trouble(fake.Trouble{SilentZones: []string{"fake-1b"}}),
			sanity.KindRefused:   s.trouble(fake.Trouble{DeniedKinds: []string{fake.KindDisk}}),
			sanity.Throttled:     s.trouble(fake.Trouble{Throttled: true}),
			sanity.PageThrottled: s.trouble(fake.Trouble{ThrottlePage: 2}),
			sanity.PageEmpty:     s.trouble(fake.Trouble{EmptyPages: true}),
			sanity.ListHides:     s.trouble(fake.Trouble{HiddenFromLists: []string{s.living.Disks[0].Handle}}),
			sanity.Silent:        s.trouble(fake.Trouble{Silent: true}),
			sanity.ClusterDown:   s.trouble(fake.Trouble{ClusterDown: true}),
			sanity.Stalled:       s.trouble(fake.Trouble{Stalled: true}),
			sanity.QuotaShort:    s.trouble(fake.Trouble{Quota: len(s.living.Recorded) + 2}),
			sanity.Expired: func(context.Context) (func(), error) {
				cloud.Expire(credentials)
				return func() {}, nil
			},
			sanity.RoleSmall: func(context.Context) (func(), error) {
				cloud.Restrict("account-1", "things.delete", "snapshots.create")
				return func() {}, nil
			},
		},
	}
}

func (s *stage) trouble(t fake.Trouble) func(context.Context) (func(), error) {
	return func(context.Context) (func(), error) {
		s.cloud.Set(t)
		return func() { s.cloud.Set(fake.Trouble{}) }, nil
	}
}

// config runs the kit on stages, which spoil changes.
func config(spoil func(*stage)) sanity.Config {
	return sanity.Config{
		Facts: fake.Facts(), Pace: time.Millisecond, Patience: 2 * time.Second, Soon: 2 * time.Second,
		World: func(context.Context) (*sanity.World, error) {
			s := newStage()
			if spoil != nil {
				spoil(s)
			}
			return s.world, nil
		},
	}
}

// The provider that the project's own tests stand on keeps every promise.
func TestTheFakeKeepsTheContract(t *testing.T) {
	for _, outcome := range sanity.Test(t, config(nil)) {
		if len(outcome.Lacks) > 0 && outcome.Name != "no-templates-unsupported" {
			t.Errorf("%s did not run: the world lacks %v", outcome.Name, outcome.Lacks)
		}
	}
}

// A check that no broken provider fails checks nothing, and one that fails together with another says the same twice.
func TestEachBrokenProviderFailsItsOwnCheckAlone(t *testing.T) {
	rows := brokenProviders()
	for _, check := range sanity.Checks() {
		row, ok := rows[check.Name]
		if !ok {
			t.Errorf("no broken provider fails %s", check.Name)
			continue
		}
		delete(rows, check.Name)
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			c := config(row.spoil)
			if row.facts != nil {
				row.facts(&c.Facts)
			}
			outcomes, err := sanity.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, outcome := range outcomes {
				if len(outcome.Breaches) > 0 {
					failed = append(failed, outcome.Name)
					t.Logf("%s: %s", outcome.Name, strings.Join(outcome.Breaches, "; "))
				}
			}
			if diff := cmp.Diff([]string{check.Name}, failed); diff != "" {
				t.Errorf("%s: the checks that failed (-want +got):\n%s", row.reason, diff)
			}
		})
	}
	for name := range rows {
		t.Errorf("there is no check %s for its broken provider", name)
	}
}

// The page and the kit say the same, promise by promise.
func TestContractAndChecksAreTheSame(t *testing.T) {
	page, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	text, hosts, found := strings.Cut(string(page), "\n## The host's side\n")
	if !found {
		t.Fatal(`docs/contract.md has no part "The host's side"`)
	}
	line := regexp.MustCompile("(?m)^- `([a-z-]+)` (.*)$")
	var written, checked []string
	for _, match := range line.FindAllStringSubmatch(text, -1) {
		written = append(written, match[1]+": "+match[2])
	}
	for _, check := range sanity.Checks() {
		checked = append(checked, check.Name+": "+check.Sentence)
	}
	if diff := cmp.Diff(checked, written); diff != "" {
		t.Errorf("the kit and docs/contract.md differ (-kit +page):\n%s", diff)
	}
	for _, match := range line.FindAllStringSubmatch(hosts, -1) {
		if slices.ContainsFunc(sanity.Checks(), func(c sanity.Check) bool { return c.Name == match[1] }) {
			t.Errorf("%s is among the host's promises and has a check", match[1])
		}
	}
}
