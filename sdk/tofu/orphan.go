// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// envRun names the cluster in the environment of everything that a run starts, for whoever looks for what it left.
const envRun = "INFRARED_TOFU_RUN"

// orphanTick is how often we look whether an orphan has ended.
const orphanTick = 50 * time.Millisecond

// awaitOrphan waits for an OpenTofu that lost its plugin or its shim and works on in the run's folder: until it has ended it holds
// the state, and its files must stay. One without a shim is interrupted first; a shim has done that.
func awaitOrphan(ctx context.Context, pidFile, cluster string) error {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return nil // nothing was started there
	}
	var pid, shim int
	if _, err := fmt.Sscan(string(text), &pid, &shim); err != nil || !runs(pid, cluster) {
		return nil
	}
	if !runs(shim, cluster) {
		_ = syscall.Kill(pid, syscall.SIGINT)
	}
	tick := time.NewTicker(orphanTick)
	defer tick.Stop()
	for runs(pid, cluster) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return interrupted("waiting for the OpenTofu of an earlier run", context.Cause(ctx))
		}
	}
	return nil
}

// keepSpilled saves the state that an earlier run in this folder could not write, before the folder is emptied.
func (f folder) keepSpilled() error {
	var found string
	err := filepath.WalkDir(f.fetch, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == spilled {
			found = path
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && found == "" {
		return nil
	}
	if err == nil {
		err = os.Rename(found, f.spilled)
	}
	if err != nil {
		return fmt.Errorf("keeping the state of an earlier run: %w", err)
	}
	return nil
}

// pushSpilled writes such a state where it belongs. One that is older than what is there is dropped.
func (r *run) pushSpilled(ctx context.Context) error {
	if _, err := os.Stat(r.folder.spilled); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := r.push(ctx, r.folder.spilled)
	switch kind := provider.KindOf(err); {
	case err == nil:
		r.say(provider.EventMessage, "the state of an earlier run is written, which could not do it")
	case kind == provider.Other || kind == provider.Invalid:
		r.say(provider.EventWarning, "the state of an earlier run is older than what is there, and was dropped: "+lastLine(err))
	default:
		return err
	}
	if err := os.Remove(r.folder.spilled); err != nil {
		return fmt.Errorf("removing the state of an earlier run: %w", err)
	}
	return nil
}
