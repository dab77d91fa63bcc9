// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"darkshift.io/infrared/sdk/fake"
	"darkshift.io/infrared/sdk/provider"
)

func brokenBuilds() map[string]brokenRow {
	return map[string]brokenRow{
		"plan-changes-nothing": {reason: "a plan prepares something", spoil: buildThen(func(s *stage, req provider.BuildRequest, _ *provider.BuildResult, _ *error) {
			if req.Action == provider.ActionPlan {
				s.leaveMark()
			}
		})},
		"plan-has-a-digest": {reason: "every plan has a digest of its own", spoil: func(s *stage) {
			calls := &counter{}
			buildThen(func(_ *stage, _ provider.BuildRequest, b *provider.BuildResult, _ *error) {
				b.PlanDigest += fmt.Sprint(calls.next())
			})(s)
		}},
		"stale-plan-refused": {reason: "the digest is not looked at", spoil: func(s *stage) {
			s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
				req.PlanDigest = ""
				return s.good.Build(ctx, req, r)
			}
		}},
		"apply-again-idle": {reason: "an apply always does something", spoil: buildThen(func(_ *stage, req provider.BuildRequest, b *provider.BuildResult, _ *error) {
			if req.Action == provider.ActionApply && len(b.Changes) == 0 {
				b.Changes = []provider.Change{{Address: "node.worker[0]", Operation: provider.OperationUpdate}}
			}
		})},
		"builds-at-once": {reason: "a held state is some failure", spoil: buildThen(func(_ *stage, _ provider.BuildRequest, _ *provider.BuildResult, err *error) {
			if *err != nil && strings.Contains((*err).Error(), "another run") {
				*err = provider.Errorf(provider.Other, "the state is locked")
			}
		})},
		"built-is-found": {reason: "the network has no labels", spoil: buildThen(func(s *stage, _ provider.BuildRequest, b *provider.BuildResult, _ *error) {
			for _, r := range b.Resources {
				if r.Kind == fake.KindNetwork {
					s.cloud.SetLabels(r.ID, nil)
				}
			}
		})},
		"destroy-takes-all": {reason: "a destroy leaves a disk", spoil: buildThen(func(s *stage, req provider.BuildRequest, _ *provider.BuildResult, _ *error) {
			if req.Action == provider.ActionDestroy {
				s.leaveMark()
			}
		})},
		"destroy-of-gone": {reason: "nothing to destroy is an error", spoil: buildThen(func(_ *stage, req provider.BuildRequest, b *provider.BuildResult, err *error) {
			if req.Action == provider.ActionDestroy && len(b.Changes) == 0 {
				*err = provider.Errorf(provider.Other, "there is nothing to destroy")
			}
		})},
		"destructive-first": {reason: "the plan is sorted by address alone", spoil: buildThen(func(_ *stage, _ provider.BuildRequest, b *provider.BuildResult, _ *error) {
			slices.SortFunc(b.Changes, func(x, y provider.Change) int { return strings.Compare(y.Address, x.Address) })
		})},
		"invalid-names-field": {reason: "the field is not named", spoil: buildThen(func(_ *stage, _ provider.BuildRequest, _ *provider.BuildResult, err *error) {
			if errors.Is(*err, provider.Invalid) {
				*err = provider.Errorf(provider.Invalid, "%w", *err)
			}
		})},
		"ledger-accounted": {reason: "what has no place is not told", spoil: buildThen(func(_ *stage, _ provider.BuildRequest, b *provider.BuildResult, _ *error) {
			b.LeftBehind = nil
		})},
	}
}

// brokenEnds are builds that end badly.
func brokenEnds() map[string]brokenRow {
	return map[string]brokenRow{
		"made-is-reported": {reason: "what was made last is not reported", spoil: func(s *stage) {
			s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
				return s.good.Build(ctx, req, reporter(func(e provider.Event) {
					if e.Kind != provider.EventDone || e.Resource.Kind != fake.KindNode {
						r.Report(e)
					}
				}))
			}
		}},
		"events-before-end": {reason: "an event comes after the end", spoil: func(s *stage) {
			s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
				returned := make(chan struct{})
				defer close(returned)
				go func() {
					<-returned
					timer := time.NewTimer(20 * time.Millisecond)
					defer timer.Stop()
					<-timer.C
					r.Report(provider.Event{Kind: provider.EventMessage, Message: "all is well"})
				}()
				return s.good.Build(ctx, req, r)
			}
		}},
		"cut-build-goes-on": {reason: "a cut build stays locked", spoil: func(s *stage) {
			var cut atomic.Bool
			s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
				if cut.Load() {
					return provider.BuildResult{}, provider.Errorf(provider.Conflict, "another run holds the state")
				}
				result, err := s.good.Build(ctx, req, r)
				cut.Store(ctx.Err() != nil)
				return result, err
			}
		}},
		"cut-build-accounted": {reason: "what was in flight is forgotten", spoil: func(s *stage) {
			s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
				result, err := s.good.Build(ctx, req, r)
				if ctx.Err() != nil {
					s.leaveMark()
				}
				return result, err
			}
		}},
		"failed-build-accounted": {reason: "a failure takes its resources along", spoil: buildThen(func(s *stage, _ provider.BuildRequest, _ *provider.BuildResult, err *error) {
			if errors.Is(*err, provider.Quota) {
				s.leaveMark()
			}
		})},
		"backups-stay": {reason: "a destroy takes all that has the label", spoil: func(s *stage) {
			s.bad.build = func(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
				for _, t := range s.cloud.Things() {
					if req.Action == provider.ActionDestroy && t.Kind == fake.KindSnapshot {
						s.cloud.Remove(t.ID)
					}
				}
				return s.good.Build(ctx, req, r)
			}
		}},
	}
}

func brokenSnapshots() map[string]brokenRow {
	return map[string]brokenRow{
		"snapshot-one-a-disk": {reason: "answers come backwards", spoil: snapshotThen(func(_ *stage, _ provider.SnapshotRequest, all []provider.Snapshot, _ *error) {
			slices.Reverse(all)
		})},
		"snapshot-named": {reason: "the name is the provider's own", spoil: snapshotThen(func(_ *stage, _ provider.SnapshotRequest, all []provider.Snapshot, _ *error) {
			for _, one := range all {
				if one.Resource != nil {
					one.Resource.Name = "backup-of-" + one.Disk.Volume
				}
			}
		})},
		"snapshot-repeated": {reason: "the second call starts others", spoil: func(s *stage) {
			calls := &counter{}
			snapshotThen(func(_ *stage, _ provider.SnapshotRequest, all []provider.Snapshot, _ *error) {
				again := calls.next() > 0
				for _, one := range all {
					if again && one.Resource != nil {
						one.Resource.ID += "-again"
					}
				}
			})(s)
		}},
		"snapshot-at-once": {reason: "it looks, and then makes, without a name that the cloud keeps unique", spoil: func(s *stage) {
			var running atomic.Int32
			s.bad.snapshot = func(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
				running.Add(1)
				defer running.Add(-1)
				if len(s.ofKind(fake.KindSnapshot)) == 0 {
					if together(&running); running.Load() > 1 {
						s.cloud.Add(fake.Thing{Kind: fake.KindSnapshot, Name: "twin", Account: "account-1"})
					}
				}
				return s.good.Snapshot(ctx, req)
			}
		}},
		"snapshot-refused": {reason: "one disk that can't be snapshotted fails all", spoil: snapshotThen(func(_ *stage, _ provider.SnapshotRequest, all []provider.Snapshot, err *error) {
			for _, one := range all {
				if one.State == provider.SnapshotUnsupported {
					*err = provider.Errorf(provider.Unsupported, "%s has no snapshots", one.Disk.Driver)
				}
			}
		})},
		"snapshot-does-not-wait": {reason: "it waits until nothing is pending", spoil: func(s *stage) {
			s.bad.snapshot = func(ctx context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
				all, err := s.good.Snapshot(ctx, req)
				if s.cloud.Trouble().Stalled {
					<-s.ended
				}
				return all, err
			}
		}},
		"snapshot-restores": {reason: "no command to restore by", spoil: snapshotThen(func(_ *stage, _ provider.SnapshotRequest, all []provider.Snapshot, _ *error) {
			for i := range all {
				all[i].Restore = ""
			}
		})},
		"snapshot-marked": {reason: "the role is left out", spoil: snapshotThen(func(_ *stage, _ provider.SnapshotRequest, all []provider.Snapshot, _ *error) {
			for _, one := range all {
				if one.Resource != nil {
					one.Resource.Role = ""
				}
			}
		})},
		"backups-apart": {reason: "backups are called left over", spoil: sweepThen(func(_ *stage, _ provider.SweepRequest, f *provider.Findings, _ *error) {
			f.Present, f.Backups = append(f.Present, f.Backups...), nil
		})},
	}
}

func (s *stage) ofKind(kind string) []fake.Thing {
	return slices.DeleteFunc(s.cloud.Things(), func(t fake.Thing) bool { return t.Kind != kind })
}
