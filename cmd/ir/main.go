// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command ir is Infrared's command line.
//
// For now it has the commands that run the local stack, ir dev, and says its
// version. Exit codes: 0 done, 1 it didn't work or something is not well, 2 it
// was called wrongly. An error is one line on the error output: what is wrong
// and what to do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in how a command was called.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program, with its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "ir:", err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func rootCommand() *cobra.Command {
	root := group("ir", "Infrared's command line")
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(devCommand(), versionCommand())
	return root
}

// group is a command that only holds others.
func group(use, short string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usageError{fmt.Errorf("there is no command %q: see %s --help", args[0], cmd.CommandPath())}
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// atMost is the rule of a command that takes up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError{fmt.Errorf("%q is one argument too many: see %s --help", args[n], cmd.CommandPath())}
		}
		return nil
	}
}
