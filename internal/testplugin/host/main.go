// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command host is a small host of one plugin, for tests that kill it or run it where a test can't run itself.
//
//	host hold PATH      starts the plugin, prints its process's number, and stops it when standard input ends
//	host attach JSON    attaches to a plugin, prints "attached", and waits until standard input ends
//	host restart PATH N starts and ends the plugin N times, by turns in order and not, starts it once more, and prints how many
//	                    dead children it has that nobody waits for
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"darkshift.io/infrared/sdk/plugin"
)

func main() {
	ctx := context.Background()
	var err error
	switch os.Args[1] {
	case "hold":
		err = hold(ctx, os.Args[2])
	case "attach":
		err = attach(ctx, os.Args[2])
	case "restart":
		err = restart(ctx, os.Args[2], os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func launch(path string) plugin.Launch { return plugin.Launch{Path: path, Output: os.Stderr} }

func hold(ctx context.Context, path string) error {
	p, err := plugin.Dial(ctx, launch(path))
	if err != nil {
		return err
	}
	fmt.Println(p.PID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return p.Stop(ctx)
}

func attach(ctx context.Context, text string) error {
	all, err := plugin.ParseAttachments(text)
	if err != nil {
		return err
	}
	for _, a := range all {
		if _, err := plugin.Attach(ctx, a); err != nil {
			return err
		}
	}
	fmt.Println("attached")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// restart counts the dead children of this process. As process 1 it also has all orphans.
func restart(ctx context.Context, path, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	for i := range n {
		p, err := plugin.Dial(ctx, launch(path))
		if err != nil {
			return err
		}
		if i%2 == 0 {
			if err := p.Stop(ctx); err != nil {
				return err
			}
			continue
		}
		p.Kill()
	}
	p, err := plugin.Dial(ctx, launch(path))
	if err != nil {
		return err
	}
	defer p.Kill()
	// Orphans fall to process 1 a moment after their parent's end, and the dead among them are found while a plugin runs.
	deadline := time.Now().Add(30 * time.Second)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	left, err := deadChildren()
	for ; err == nil && left > 0 && time.Now().Before(deadline); left, err = deadChildren() {
		<-ticker.C
	}
	fmt.Println("dead children:", left)
	return err
}

func deadChildren() (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if string(fields[0]) == "Z" && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n, nil
}
