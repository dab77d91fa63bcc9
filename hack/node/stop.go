// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"

	"darkshift.io/infrared/hack/node/internal/agent"
	"darkshift.io/infrared/hack/node/internal/record"
)

// stopPods ends all pods of a folder whose node doesn't run.
func stopPods(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("node stop", flag.ContinueOnError)
	root := set.String("root", "", "folder that keeps the pods")
	grace := set.Int64("grace", 0, "seconds between SIGTERM and SIGKILL")
	purge := set.Bool("purge", false, "remove what is left of the pods, so that the next node fails those that the API server still has")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *root == "" {
		return errors.New("--root is missing; " + usage)
	}
	if _, err := os.Stat(record.Pods(*root)); errors.Is(err, fs.ErrNotExist) {
		return nil // no node was ever there
	}
	lock, err := agent.Claim(*root)
	if err != nil {
		return err
	}
	defer lock.Close()
	uids, err := record.All(*root)
	if err != nil {
		return err
	}
	order := record.Stop{GraceSeconds: *grace, Reason: "Terminated", Message: "the node's pods were ended with the node"}
	for _, uid := range uids {
		if err := record.Of(*root, uid).WriteStop(order); err != nil {
			return err
		}
	}
	for _, uid := range uids {
		folder := record.Of(*root, uid)
		if err := waitFor(ctx, folder); err != nil {
			return err
		}
		if !*purge {
			continue
		}
		if err := folder.Remove(); err != nil {
			return err
		}
	}
	if *purge {
		return record.Sweep(*root)
	}
	return nil
}

// waitFor waits for a pod's supervisor, or for somebody's patience to end.
func waitFor(ctx context.Context, folder record.Folder) error {
	ended := make(chan error, 1)
	go func() { ended <- folder.WaitSupervisor() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the pods of the node have not all ended: %w", ctx.Err())
	}
}
