// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"darkshift.io/infrared/sdk/fake"
	"darkshift.io/infrared/sdk/provider"
)

// brokenRow is a provider that breaks one promise.
type brokenRow struct {
	spoil  func(*stage)
	facts  func(*provider.Facts)
	reason string
}

// brokenProviders has one row a check, under its name.
func brokenProviders() map[string]brokenRow {
	all := map[string]brokenRow{}
	for _, rows := range []map[string]brokenRow{
		brokenEverywhere(), brokenSecrets(), brokenAttribution(), brokenUnknowns(), brokenConnects(), brokenBuilds(), brokenEnds(), brokenSnapshots(),
		brokenFindings(), brokenErrors(), brokenAccounts(), brokenFacts(),
	} {
		maps.Copy(all, rows)
	}
	return all
}

// absent moves what a twist picks from present and unknown to absent.
func absent(f *provider.Findings, pick func(provider.Finding) bool) {
	for _, list := range []*[]provider.Finding{&f.Present, &f.Unknown} {
		var kept []provider.Finding
		for _, one := range *list {
			if pick(one) {
				f.Absent = append(f.Absent, one)
			} else {
				kept = append(kept, one)
			}
		}
		*list = kept
	}
	slices.SortFunc(f.Absent, func(a, b provider.Finding) int { return strings.Compare(a.Resource.ID, b.Resource.ID) })
}

func because(text string) func(provider.Finding) bool {
	return func(f provider.Finding) bool { return strings.Contains(f.Why, text) }
}

func tokenOf(c provider.Credentials) string { return c.Values[fake.TokenName].Reveal() }

func brokenEverywhere() map[string]brokenRow {
	return map[string]brokenRow{
		"repeat-same-answer": {reason: "every other sweep forgets the last thing", spoil: func(s *stage) {
			calls := &counter{}
			sweepThen(func(_ *stage, req provider.SweepRequest, f *provider.Findings, _ *error) {
				if calls.next() == 1 && len(f.Present) > 0 && req.Cluster.Name == "living" && !s.cloud.Trouble().EmptyPages {
					f.Present = f.Present[:len(f.Present)-1]
				}
			})(s)
		}},
		"looks-at-once": {reason: "a second sweep at once is refused", spoil: func(s *stage) {
			var running atomic.Int32
			calls := &counter{}
			s.bad.sweep = func(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
				if running.Add(1) > 1 {
					return provider.Findings{}, provider.Errorf(provider.Conflict, "another sweep runs")
				}
				if calls.next() == 0 {
					together(&running)
				}
				defer running.Store(0)
				return s.good.Sweep(ctx, req)
			}
		}},
		"nothing-kept": {reason: "the last credentials serve a call that has none", spoil: func(s *stage) {
			var mu sync.Mutex
			var last provider.Credentials
			s.bad.confirm = func(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
				mu.Lock()
				if req.Credentials.IsZero() {
					req.Credentials = last
				}
				last = req.Credentials
				mu.Unlock()
				return s.good.Confirm(ctx, req)
			}
		}},
		"tenants-apart": {reason: "who came in first stays in for all", spoil: func(s *stage) {
			var mu sync.Mutex
			var first provider.Credentials
			s.bad.confirm = func(ctx context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
				mu.Lock()
				defer mu.Unlock()
				if !first.IsZero() && !req.Credentials.IsZero() {
					req.Credentials = first
				}
				found, err := s.good.Confirm(ctx, req)
				if err == nil {
					first = req.Credentials
				}
				return found, err
			}
		}},
		"other-process-goes-on": {reason: "what was started is kept in memory", spoil: func(s *stage) {
			s.again = func(other *twisted) {
				snapshotThen(func(_ *stage, _ provider.SnapshotRequest, all []provider.Snapshot, _ *error) {
					for _, one := range all {
						if one.Resource != nil {
							one.Resource.ID += "-again"
						}
					}
				})(&stage{good: s.good, bad: other})
			}
		}},
		"ctx-ends-soon": {reason: "a sweep goes on whatever its context says", spoil: func(s *stage) {
			s.bad.sweep = func(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
				if s.cloud.Trouble().Silent {
					<-s.ended
				}
				return s.good.Sweep(ctx, req)
			}
		}},
		"same-cause-same-text": {reason: "an error has a request ID", spoil: func(s *stage) {
			calls := &counter{}
			confirmThen(func(_ *stage, _ *provider.Findings, err *error) {
				if *err != nil {
					*err = provider.Errorf(provider.KindOf(*err), "%w (request %d)", *err, calls.next())
				}
			})(s)
		}},
		"lists-sorted": {reason: "what is present comes backwards", spoil: confirmThen(func(_ *stage, f *provider.Findings, _ *error) {
			slices.Reverse(f.Present)
		})},
	}
}

// together waits until another call has begun, or for long enough to say that none will.
func together(running *atomic.Int32) {
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for running.Load() < 2 {
		select {
		case <-timer.C:
			return
		case <-ticker.C:
		}
	}
}

func brokenSecrets() map[string]brokenRow {
	return map[string]brokenRow{
		"no-secret-in-errors": {reason: "an error quotes the token", spoil: func(s *stage) {
			s.bad.sweep = func(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
				f, err := s.good.Sweep(ctx, req)
				if errors.Is(err, provider.Unauthenticated) {
					err = provider.Errorf(provider.Unauthenticated, "%w: %s", err, tokenOf(req.Credentials))
				}
				return f, err
			}
		}},
		"no-secret-in-answers": {reason: "a finding quotes the token", spoil: sweepThen(func(_ *stage, req provider.SweepRequest, f *provider.Findings, _ *error) {
			for i := range f.Present {
				f.Present[i].Why += " with " + tokenOf(req.Credentials)
			}
		})},
		"no-secret-in-events": {reason: "an event quotes the token", spoil: func(s *stage) {
			s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
				return s.good.Build(ctx, req, reporter(func(e provider.Event) {
					e.Message += " with " + tokenOf(req.Credentials)
					r.Report(e)
				}))
			}
		}},
		"no-secret-in-output": {reason: "the token is logged", spoil: func(s *stage) {
			s.bad.sweep = func(ctx context.Context, req provider.SweepRequest) (provider.Findings, error) {
				s.printed.add("sweeping with " + tokenOf(req.Credentials))
				return s.good.Sweep(ctx, req)
			}
		}},
	}
}

// claims makes the sweep call what is picked the cluster's.
func claims(pick func(t fake.Thing) bool) func(*stage) {
	return sweepThen(func(s *stage, req provider.SweepRequest, f *provider.Findings, _ *error) {
		for _, t := range s.cloud.Things() {
			if req.Cluster.Name == "living" && pick(t) {
				f.Present = append(f.Present, provider.Finding{Resource: t.Resource(), Why: "it looks like it"})
			}
		}
		slices.SortFunc(f.Present, func(a, b provider.Finding) int { return strings.Compare(a.Resource.ID, b.Resource.ID) })
	})
}

func brokenAttribution() map[string]brokenRow {
	return map[string]brokenRow{
		"proof-given": {reason: "no proof in words", spoil: found(func(_ *stage, f *provider.Finding) { f.Resource.Why = "" })},
		"other-clusters-spared": {reason: "a name that begins alike is taken for proof", spoil: claims(func(t fake.Thing) bool {
			return t.Labels[fake.LabelCluster] == "living-2"
		})},
		"other-incarnations-spared": {reason: "the name alone is taken for proof", spoil: claims(func(t fake.Thing) bool {
			return t.Labels[fake.LabelCluster] == "living" && t.Labels[fake.LabelIncarnation] != "6f1c0e9e-92bd-4c3c-9f4b-3a0e3f1f9f10"
		})},
		"unused-is-no-proof": {reason: "an unattached disk is taken along", spoil: claims(func(t fake.Thing) bool { return t.Name == "unattached" })},
		"recorded-found": {reason: "recorded load balancers are forgotten", spoil: sweepThen(func(_ *stage, req provider.SweepRequest, f *provider.Findings, _ *error) {
			if len(req.Recorded) > 0 {
				f.Present = slices.DeleteFunc(f.Present, func(one provider.Finding) bool { return one.Resource.Kind == fake.KindLoadBalancer })
			}
		})},
		"unrecorded-found": {reason: "load balancers are known by record only", spoil: sweepThen(func(_ *stage, req provider.SweepRequest, f *provider.Findings, _ *error) {
			if len(req.Recorded) == 0 && len(f.NotLooked) == 0 {
				f.Present = slices.DeleteFunc(f.Present, func(one provider.Finding) bool { return one.Resource.Kind == fake.KindLoadBalancer })
			}
		})},
	}
}

func brokenUnknowns() map[string]brokenRow {
	return map[string]brokenRow{
		"gone-is-an-answer": {reason: "what is gone is an error", spoil: confirmThen(func(_ *stage, f *provider.Findings, err *error) {
			if len(f.Absent) > 0 {
				*err = provider.Errorf(provider.Other, "%s was not found", f.Absent[0].Resource.ID)
			}
		})},
		"never-was-is-an-answer": {reason: "nothing found is an error", spoil: sweepThen(func(_ *stage, req provider.SweepRequest, _ *provider.Findings, err *error) {
			if *err == nil && req.Cluster.Name == "never-was" {
				*err = provider.Errorf(provider.Other, "there is no such cluster")
			}
		})},
		"silent-zone-unknown": {reason: "a silent zone is taken for an empty one", spoil: confirmThen(func(_ *stage, f *provider.Findings, _ *error) {
			absent(f, because("does not answer"))
		})},
		"refusal-unknown": {reason: "a refusal is taken for absence", spoil: confirmThen(func(_ *stage, f *provider.Findings, _ *error) {
			absent(f, because("may not look"))
		})},
		"throttle-unknown": {reason: "a throttle is taken for absence", spoil: confirmThen(func(_ *stage, f *provider.Findings, _ *error) {
			absent(f, because("fewer calls"))
		})},
		"expired-unknown": {reason: "an expired token sees nothing, and so there is nothing", spoil: sweepThen(func(_ *stage, _ provider.SweepRequest, _ *provider.Findings, err *error) {
			if *err != nil && strings.Contains((*err).Error(), "expired") {
				*err = nil
			}
		})},
		"half-list-unknown": {reason: "the first page is taken for the list", spoil: sweepThen(func(s *stage, _ provider.SweepRequest, f *provider.Findings, _ *error) {
			if s.cloud.Trouble().ThrottlePage > 0 {
				f.NotLooked = nil
			}
		})},
		"empty-page-goes-on": {reason: "an empty page is taken for the end", spoil: sweepThen(func(s *stage, _ provider.SweepRequest, f *provider.Findings, _ *error) {
			if s.cloud.Trouble().EmptyPages {
				*f = provider.Findings{}
			}
		})},
		"list-is-no-proof": {reason: "what no list has is called absent", spoil: confirmThen(func(s *stage, f *provider.Findings, _ *error) {
			absent(f, func(one provider.Finding) bool {
				return slices.Contains(s.cloud.Trouble().HiddenFromLists, one.Resource.ID)
			})
		})},
		"deleting-is-present": {reason: "what is being deleted is called gone", spoil: confirmThen(func(_ *stage, f *provider.Findings, _ *error) {
			absent(f, func(one provider.Finding) bool { return one.State == string(fake.StateDeleting) })
		})},
	}
}

func brokenConnects() map[string]brokenRow {
	return map[string]brokenRow{
		"connect-writes-nothing": {reason: "a mark is left in the cloud", spoil: connectThen(func(s *stage, _ provider.ConnectRequest, _ *provider.Connection, _ *error) {
			s.leaveMark()
		})},
		"connect-says-which": {reason: "the UID is left out", spoil: connectThen(func(_ *stage, _ provider.ConnectRequest, c *provider.Connection, _ *error) {
			c.Identity.KubeSystemUID = ""
		})},
		"connect-keeps-endpoint": {reason: "the address is made tidy", spoil: connectThen(func(_ *stage, _ provider.ConnectRequest, c *provider.Connection, _ *error) {
			c.Endpoint.Server += "/"
		})},
		"connect-counts-nodes": {reason: "nodes are not counted", spoil: connectThen(func(_ *stage, _ provider.ConnectRequest, c *provider.Connection, _ *error) {
			c.Nodes = nil
		})},
		"connect-records": {reason: "load balancers are not written down", spoil: connectThen(func(_ *stage, _ provider.ConnectRequest, c *provider.Connection, _ *error) {
			c.Holds = slices.DeleteFunc(c.Holds, func(r provider.Resource) bool { return r.Kind == fake.KindLoadBalancer })
		})},
		"connect-without-credentials": {reason: "no credentials are an error", spoil: connectThen(func(_ *stage, req provider.ConnectRequest, _ *provider.Connection, err *error) {
			if req.Credentials.IsZero() {
				*err = provider.Errorf(provider.Unauthenticated, "there are no credentials")
			}
		})},
		"unreachable-is-not-gone": {reason: "an unreachable cluster is an invalid one", spoil: connectThen(func(s *stage, _ provider.ConnectRequest, _ *provider.Connection, err *error) {
			if s.cloud.Trouble().ClusterDown {
				*err = provider.Invalidf("endpoint", "there is no such cluster")
			}
		})},
		"built-is-connected": {reason: "a built cluster gets no token", spoil: connectThen(func(_ *stage, req provider.ConnectRequest, c *provider.Connection, _ *error) {
			if req.Endpoint == nil {
				c.Endpoint.Token = provider.Secret{}
			}
		})},
	}
}

// leaveMark writes something that is nobody's.
func (s *stage) leaveMark() {
	s.cloud.Add(fake.Thing{Kind: fake.KindNetwork, Name: "infrared-was-here", Account: "account-1"})
}

func brokenFindings() map[string]brokenRow {
	return map[string]brokenRow{
		"confirm-writes-nothing": {reason: "a mark is left in the cloud", spoil: confirmThen(func(s *stage, _ *provider.Findings, _ *error) { s.leaveMark() })},
		"sweep-writes-nothing": {reason: "it tidies up", spoil: sweepThen(func(s *stage, req provider.SweepRequest, _ *provider.Findings, _ *error) {
			if req.Cluster.Name == "living" {
				s.leaveMark()
			}
		})},
		"exactly-one-list": {reason: "something is present and unknown", spoil: confirmThen(func(_ *stage, f *provider.Findings, _ *error) {
			if len(f.Present) > 0 && len(f.Unknown) == 0 {
				f.Unknown = append(f.Unknown, f.Present[0])
			}
		})},
		"findings-say-why": {reason: "answers rest on nothing", spoil: found(func(_ *stage, f *provider.Finding) { f.Why = "" })},
		"not-looked-says-why": {reason: "what was not looked at has no reason", spoil: sweepThen(func(_ *stage, _ provider.SweepRequest, f *provider.Findings, _ *error) {
			for i := range f.NotLooked {
				f.NotLooked[i].Why = ""
			}
		})},
		"kinds-declared": {reason: "disks are called volumes", spoil: found(func(_ *stage, f *provider.Finding) {
			if f.Resource.Kind == fake.KindNode {
				f.Resource.Kind = "nodes"
			}
		})},
		"unknown-price-is-nil": {reason: "what is not known costs nothing", spoil: found(func(_ *stage, f *provider.Finding) {
			if f.Resource.Hourly == nil {
				f.Resource.Hourly = new(provider.USD)
			}
		})},
	}
}
