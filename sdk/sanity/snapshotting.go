// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"darkshift.io/infrared/sdk/provider"
)

// snapshotting are the promises of Snapshot.
func snapshotting() []Check {
	return []Check{
		{
			Name: "snapshot-one-a-disk", Sentence: "Snapshot gives one answer a disk, in the order of the request.",
			needs: []need{needDisks()}, run: snapshotOneADisk,
		},
		{
			Name: "snapshot-named", Sentence: "A snapshot's name is ir-<cluster>-<time>-<n>, from the request alone.",
			needs: []need{needDisks()}, run: snapshotNamed,
		},
		{
			Name: "snapshot-repeated", Sentence: "Snapshot called again looks up the snapshots that were started, and starts none.",
			needs: []need{needDisks(), needThings()}, run: snapshotRepeated,
		},
		{
			Name: "snapshot-at-once", Sentence: "Snapshots of the same disks that are asked for at once are started once.",
			needs: []need{needDisks(), needThings()}, run: snapshotAtOnce,
		},
		{
			Name: "snapshot-refused", Sentence: "A disk that can't be snapshotted is an answer with its reason, and keeps no other from being snapshotted.",
			needs: []need{needDisks(), needStrange()}, run: snapshotRefused,
		},
		{
			Name: "snapshot-does-not-wait", Sentence: "Snapshot returns while its snapshots are still being made.",
			needs: []need{needDisks(), needTrouble(Stalled)}, run: snapshotDoesNotWait,
		},
		{
			Name: "snapshot-restores", Sentence: "The command that restores a snapshot is there exactly when the snapshot is ready.",
			needs: []need{needDisks()}, run: snapshotRestores,
		},
		{
			Name: "snapshot-marked", Sentence: "A snapshot has the role safety-snapshot.",
			needs: []need{needDisks()}, run: snapshotMarked,
		},
		{
			Name: "backups-apart", Sentence: "Sweep lists safety snapshots as backups, and never as present.",
			needs: []need{needDisks()}, run: backupsApart,
		},
		{
			Name: "backups-stay", Sentence: "Build takes away no safety snapshot, also when it destroys the cluster.",
			needs: []need{needDisks(), needBuild(), needThings()}, run: backupsStay,
		},
	}
}

// started asks for snapshots until each disk has one that was started, for a cluster.
func (b *bench) started(ctx context.Context, of provider.Cluster) ([]provider.Snapshot, bool) {
	req := b.snapshotRequest()
	req.Cluster = of
	var all []provider.Snapshot
	var err error
	if !b.until(ctx, func() bool {
		all, err = b.Provider.Snapshot(ctx, req)
		return err != nil || !slices.ContainsFunc(all, func(s provider.Snapshot) bool { return s.Resource == nil })
	}) {
		b.breach("Snapshot started none of some disks")
		return nil, false
	}
	return all, b.fine("Snapshot", err)
}

// ready asks for snapshots until all are.
func (b *bench) ready(ctx context.Context, each func(provider.Snapshot)) bool {
	var err error
	if !b.until(ctx, func() bool {
		var all []provider.Snapshot
		all, err = b.Provider.Snapshot(ctx, b.snapshotRequest())
		done := true
		for _, s := range all {
			each(s)
			done = done && s.State == provider.SnapshotReady
		}
		return err != nil || done
	}) {
		b.breach("the snapshots never were ready")
		return false
	}
	return b.fine("Snapshot", err)
}

func snapshotOneADisk(ctx context.Context, b *bench) {
	all, err := b.Provider.Snapshot(ctx, b.snapshotRequest())
	if !b.fine("Snapshot", err) {
		return
	}
	var want, got []string
	for _, disk := range b.Disks {
		want = append(want, disk.Handle)
	}
	for _, s := range all {
		got = append(got, s.Disk.Handle)
	}
	if !slices.Equal(want, got) {
		b.breach("Snapshot was asked for %v, and answered for %v", want, got)
	}
}

func snapshotNamed(ctx context.Context, b *bench) {
	all, ok := b.started(ctx, b.Cluster)
	if !ok {
		return
	}
	for n, disk := range b.Disks {
		want := fmt.Sprintf("ir-%s-%d-%d", b.Cluster.Name, b.snapshotRequest().Time.Unix(), n)
		for _, s := range all {
			if s.Disk.Handle == disk.Handle && s.Resource.Name != want {
				b.breach("the snapshot of disk %d is named %q: want %q", n, s.Resource.Name, want)
			}
		}
	}
}

func snapshotIDs(all []provider.Snapshot) []string {
	var found []string
	for _, s := range all {
		if s.Resource != nil {
			found = append(found, s.Resource.ID)
		}
	}
	slices.Sort(found)
	return found
}

func snapshotRepeated(ctx context.Context, b *bench) {
	first, ok := b.started(ctx, b.Cluster)
	if !ok {
		return
	}
	before := b.things(ctx)
	second, err := b.Provider.Snapshot(ctx, b.snapshotRequest())
	if !b.fine("the second Snapshot", err) {
		return
	}
	if !slices.Equal(snapshotIDs(first), snapshotIDs(second)) {
		b.breach("Snapshot answered %v, and then %v", snapshotIDs(first), snapshotIDs(second))
	}
	if more := added(before, b.things(ctx)); len(more) > 0 {
		b.breach("the second Snapshot made %v", more)
	}
}

func snapshotAtOnce(ctx context.Context, b *bench) {
	before := b.things(ctx)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			// A Conflict is a fair answer to one of them. What counts is what was made.
			_, _ = b.Provider.Snapshot(ctx, b.snapshotRequest())
		})
	}
	group.Wait()
	if _, ok := b.started(ctx, b.Cluster); !ok {
		return
	}
	if made := added(before, b.things(ctx)); len(made) != len(b.Disks) {
		b.breach("%d calls at once made %v for %d disks", atOnce, made, len(b.Disks))
	}
}

func snapshotRefused(ctx context.Context, b *bench) {
	req := b.snapshotRequest()
	req.Disks = slices.Insert(req.Disks, 1, *b.Strange)
	all, err := b.Provider.Snapshot(ctx, req)
	if !b.fine("Snapshot of disks among which one can't be snapshotted", err) {
		return
	}
	for _, s := range all {
		refused := s.State == provider.SnapshotUnsupported || s.State == provider.SnapshotFailed
		switch strange := s.Disk.Handle == b.Strange.Handle; {
		case strange && (!refused || s.Why == ""):
			b.breach("the disk %s, which can't be snapshotted, is %s because %q", s.Disk.Handle, s.State, s.Why)
		case !strange && refused:
			b.breach("the disk %s is %s beside one that can't be snapshotted", s.Disk.Handle, s.State)
		}
	}
}

func snapshotDoesNotWait(ctx context.Context, b *bench) {
	mend, ok := b.in(ctx, Stalled)
	if !ok {
		return
	}
	defer mend()
	if !b.within(ctx, func(ctx context.Context) (any, error) { return b.Provider.Snapshot(ctx, b.snapshotRequest()) }) {
		b.breach("Snapshot still runs after %s, while nothing gets ready", b.soon)
	}
}

func snapshotRestores(ctx context.Context, b *bench) {
	wrong := map[string]string{}
	if !b.ready(ctx, func(s provider.Snapshot) {
		if (s.State == provider.SnapshotReady) != (s.Restore != "") {
			wrong[s.Disk.Handle] = fmt.Sprintf("%s with the command %q", s.State, s.Restore)
		}
	}) {
		return
	}
	for _, disk := range slices.Sorted(maps.Keys(wrong)) {
		b.breach("the snapshot of %s is %s", disk, wrong[disk])
	}
}

func snapshotMarked(ctx context.Context, b *bench) {
	all, ok := b.started(ctx, b.Cluster)
	if !ok {
		return
	}
	for _, s := range all {
		if s.Resource.Role != provider.RoleSafetySnapshot {
			b.breach("the snapshot %s has the role %q", s.Resource.ID, s.Resource.Role)
		}
	}
}

func backupsApart(ctx context.Context, b *bench) {
	all, ok := b.started(ctx, b.Cluster)
	if !ok {
		return
	}
	var found provider.Findings
	if !b.until(ctx, func() bool {
		var err error
		found, err = b.Provider.Sweep(ctx, b.sweepRequest())
		return err == nil && len(missing(snapshotIDs(all), ids(of(found.Backups, found.Present)))) == 0
	}) {
		b.breach("Sweep does not find the snapshots %v", snapshotIDs(all))
		return
	}
	if wrong := common(snapshotIDs(all), ids(of(found.Present, found.Unknown))); len(wrong) > 0 {
		b.breach("Sweep calls the safety snapshots %v left over", wrong)
	}
}

func backupsStay(ctx context.Context, b *bench) {
	if _, _, ok := b.apply(ctx); !ok {
		return
	}
	all, ok := b.started(ctx, b.Build.Cluster)
	if !ok {
		return
	}
	if _, _, err := b.build(ctx, *b.Build, provider.ActionDestroy); !b.fine("Build destroy", err) {
		return
	}
	there := slices.Sorted(maps.Keys(b.things(ctx)))
	if lost := missing(snapshotIDs(all), there); len(lost) > 0 {
		b.breach("Build destroyed the safety snapshots %v", lost)
	}
}
