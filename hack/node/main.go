// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command node is a Kubernetes node whose pods are processes of this machine.
//
// It needs no root, no container engine and no images: a pod's containers are local programs,
// named by a table, in namespaces of their own. It is made for the local
// stack and the tests, and runs on Linux only. See the packages under internal, from
// agent (the node) over supervisor (one pod) to box (one container).
//
// The first argument says what this process is:
//
//	node run        the node
//	node stop       end all pods of a node that doesn't run, and remove them with --purge
//	node supervise  the supervisor of one pod; the node starts it
//	node enter      a container about to start; the supervisor starts it
//	node helper     what runs exec probes inside a container
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"darkshift.io/infrared/hack/node/internal/box"
	"darkshift.io/infrared/hack/node/internal/record"
	"darkshift.io/infrared/hack/node/internal/supervisor"
)

const usage = "usage: node run --name NAME --root FOLDER --images FILE --kubeconfig FILE | node stop --root FOLDER"

func main() {
	if err := dispatch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case box.EnterCommand:
		return box.Enter()
	case box.HelperCommand:
		return box.Helper(context.Background())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch args[0] {
	case "run":
		return runNode(ctx, args[1:])
	case "stop":
		return stopPods(ctx, args[1:])
	case "supervise":
		return supervise(ctx, args[1:])
	}
	return fmt.Errorf("no command %q; %s", args[0], usage)
}

func supervise(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: node supervise FOLDER")
	}
	err := supervisor.Run(ctx, record.Folder(args[0]), time.Now)
	if errors.Is(err, fs.ErrExist) {
		return nil // another was first, and the pod is in its hands
	}
	return err
}
