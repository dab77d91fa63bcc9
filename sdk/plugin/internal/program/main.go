// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Program is a plugin for the tests of package plugin. What it does beyond the ordinary, its environment says.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/plugin/internal/noise"
	"darkshift.io/infrared/sdk/provider"
)

func main() {
	facts := provider.Facts{Name: "program", Version: "v0.1.0"}
	var p provider.Provider = verbs{}
	switch os.Getenv("BEHAVIOUR") {
	case "bad-facts":
		facts.Templates = []provider.Template{{Name: "other/cluster"}}
	case "no-provider":
		p = nil
	case "twice":
		go plugin.Serve(p, facts)
	case "chatty":
		for range 4 {
			go func() {
				for {
					fmt.Println("chatty: a line")
					fmt.Print("chatty: without an end")
				}
			}()
		}
	}
	noise.Kept.Println("from main")
	plugin.Serve(p, facts)
}

// verbs is the provider.
type verbs struct{}

// Connect prints, and answers with what is in the environment.
func (verbs) Connect(context.Context, provider.ConnectRequest) (provider.Connection, error) {
	fmt.Println("printed in Connect")
	fmt.Fprintln(os.Stderr, "printed to standard error in Connect")
	noise.Kept.Println("printed in Connect")
	var names []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return provider.Connection{Version: strings.Join(names, " ")}, nil
}

// Build runs until it is stopped, then takes its time to tidy up, and leaves a file behind once it has.
func (verbs) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	r.Report(provider.Event{Kind: provider.EventMessage, Message: "begun"})
	<-ctx.Done()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 50 {
		<-tick.C
		fmt.Fprintln(os.Stderr, "winding down")
		fmt.Println("winding down")
		r.Report(provider.Event{Kind: provider.EventMessage, Message: "winding down"})
	}
	err := os.WriteFile(filepath.Join(req.Folder, "wound-down"), nil, 0o600)
	return provider.BuildResult{LeftBehind: []provider.Resource{{ID: "net-1"}}}, err
}

// Snapshot ends the program, as one does that can't go on.
func (verbs) Snapshot(context.Context, provider.SnapshotRequest) ([]provider.Snapshot, error) {
	fmt.Println("last words on standard output")
	fmt.Fprintln(os.Stderr, "last words on standard error")
	os.Exit(3)
	return nil, nil
}

// Confirm answers with what a program that it starts inherits.
func (verbs) Confirm(ctx context.Context, _ provider.ConfirmRequest) (provider.Findings, error) {
	out, err := exec.CommandContext(ctx, "/bin/sh", "-c", "echo /proc/$$/fd/*; env").Output()
	return provider.Findings{Present: []provider.Finding{{Why: string(out)}}}, err
}

// Sweep does not look at its context.
func (verbs) Sweep(_ context.Context, req provider.SweepRequest) (provider.Findings, error) {
	if req.Cluster.Name == "stubborn" {
		fmt.Fprintln(os.Stderr, "stubborn")
		select {}
	}
	return provider.Findings{}, nil
}
