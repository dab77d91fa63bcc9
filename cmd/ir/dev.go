// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/build"
	"darkshift.io/infrared/internal/devstack/stack"
)

const devLong = `Run the local stack: a management control plane with a node that runs pods,
further control planes as clusters to register, and the operator, all real, all on
loopback, without root.
Everything it keeps is under one data folder.`

func devCommand() *cobra.Command {
	dev := group("dev", "Run the local stack")
	dev.Long = devLong
	var data string
	dev.PersistentFlags().StringVar(&data, "data", "", "data folder (default $"+stack.DataEnv+", else .dev in the repository)")
	open := func() (*stack.Stack, error) { return openStack(data) }
	dev.AddCommand(
		buildCommand(),
		upCommand(open),
		statusCommand(open),
		logsCommand(open),
		downCommand(open),
		superviseCommand(open),
	)
	return dev
}

// openStack also says how a supervisor of the stack is started: by this very
// program.
func openStack(data string) (*stack.Stack, error) {
	s, err := stack.Open(data)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	s.Supervisor = []string{self, "dev", "supervise"}
	return s, nil
}

type opener func() (*stack.Stack, error)

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build [program...]",
		Short: "Compile the stack's programs (make stack does this), or those that are named",
		RunE: func(cmd *cobra.Command, names []string) error {
			programs, err := build.Choose(names)
			if err != nil {
				return usageError{err}
			}
			root, err := devstack.RepoRoot()
			if err != nil {
				return err
			}
			b := build.Builder{Root: root, Out: cmd.OutOrStdout(), Now: time.Now}
			for _, p := range programs {
				if err := b.Build(cmd.Context(), p); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func upCommand(open opener) *cobra.Command {
	o := stack.UpOptions{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the stack, add to it, or start again what died in it",
		Example: `  ir dev up --cluster edge                 a control plane to register, in .dev/edge.kubeconfig
  ir dev up --cluster edge --cluster west  one more, while the others run on`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := open()
			if err != nil {
				return err
			}
			o.Out = cmd.OutOrStdout()
			return s.Up(cmd.Context(), o)
		},
	}
	cmd.Flags().StringArrayVar(&o.Clusters, "cluster", nil, "run a further control plane of this name, may be repeated; those of earlier calls are kept")
	cmd.Flags().BoolVar(&o.Operator, "operator", true, "run the operator, where it is built")
	cmd.Flags().StringVar(&o.Node, "node", defaultNode(), "what runs pods: process (as processes of this machine, on Linux), real (a kubelet and a container engine, as root; make realnode) or none")
	cmd.Flags().BoolVar(&o.NewPorts, "new-ports", false, "give new addresses to control planes that don't run; kubeconfigs in use must be replaced")
	return cmd
}

// defaultNode is the node that everybody can have.
func defaultNode() string {
	if runtime.GOOS == "linux" {
		return stack.NodeProcess
	}
	return stack.NodeNone
}

func statusCommand(open opener) *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show each component; exit 1 when one isn't well",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return usageError{fmt.Errorf("--output %q can't be printed: json, or leave it out for a table", output)}
			}
			s, err := open()
			if err != nil {
				return err
			}
			st, err := s.Status()
			if err != nil {
				return err
			}
			return stack.PrintStatus(cmd.OutOrStdout(), st, output == "json")
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json, for programs")
	return cmd
}

func logsCommand(open opener) *cobra.Command {
	o := stack.LogOptions{}
	cmd := &cobra.Command{
		Use:   "logs [component]",
		Short: "Print logs: of one component, of a cluster, of the supervisor, or all",
		Example: `  ir dev logs infrared-operator -f
  ir dev logs edge/kube-apiserver --lines 200`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := open()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				o.Component = args[0]
			}
			o.Out = cmd.OutOrStdout()
			return s.Logs(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on printing what is added")
	cmd.Flags().IntVar(&o.Lines, "lines", 50, "lines of the end of each log, -1 for all")
	return cmd
}

func downCommand(open opener) *cobra.Command {
	purge := false
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop everything; the data stays for the next up",
		Args:  atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := open()
			if err != nil {
				return err
			}
			return s.Down(cmd.Context(), purge, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "remove the data too, but not the compiled programs")
	return cmd
}

// superviseCommand is what up starts; nobody else calls it.
func superviseCommand(open opener) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise",
		Short:  "Be the parent of everything in the stack",
		Hidden: true,
		Args:   atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := open()
			if err != nil {
				return err
			}
			if s.Binary, err = devstack.Binary(); err != nil {
				return err
			}
			err = s.Supervise(cmd.Context(), cmd.ErrOrStderr())
			if errors.Is(err, cmd.Context().Err()) {
				return nil
			}
			return err
		},
	}
}
