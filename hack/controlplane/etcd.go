// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

// memberName is the one member's name inside its data.
const memberName = "default"

// etcdFlags is what can be chosen about the one-member etcd.
type etcdFlags struct {
	dataDir       string
	socket        string
	unsafeNoFsync bool
	compaction    string
	logLevel      string
}

// runEtcd serves one etcd member on a unix socket until SIGTERM or SIGINT.
// It listens on no TCP port at all. Exit code 2 is a wrong flag, 1 an error.
func runEtcd() int {
	f, err := parseEtcdFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 2
	}
	if err := serveEtcd(f); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

func parseEtcdFlags(args []string) (etcdFlags, error) {
	var f etcdFlags
	fs := flag.NewFlagSet("etcd", flag.ContinueOnError)
	fs.StringVar(&f.dataDir, "data-dir", "", "folder that holds the data")
	fs.StringVar(&f.socket, "socket", "", "unix socket to serve clients on; the peer socket, unused, is beside it")
	fs.BoolVar(&f.unsafeNoFsync, "unsafe-no-fsync", false, "never wait for the disk: faster, and a crash of the machine may lose data")
	fs.StringVar(&f.compaction, "auto-compaction-retention", "10m", "how much history to keep")
	fs.StringVar(&f.logLevel, "log-level", "warn", "debug, info, warn or error")
	if err := fs.Parse(args); err != nil {
		return f, err
	}
	switch {
	case fs.NArg() > 0:
		return f, fmt.Errorf("etcd takes no argument, got %q", fs.Arg(0))
	case f.dataDir == "":
		return f, errors.New("--data-dir is missing")
	case f.socket == "":
		return f, errors.New("--socket is missing")
	}
	return f, nil
}

func serveEtcd(f etcdFlags) error {
	cfg, err := etcdConfig(f)
	if err != nil {
		return err
	}
	// Caught before the start, so that a stop during it is not lost.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)

	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("starting etcd on %q: %w", f.dataDir, err)
	}
	select {
	case <-stop:
		e.Close()
		return nil
	case err := <-e.Err():
		e.Close()
		return fmt.Errorf("serving etcd: %w", err)
	}
}

// etcdConfig turns the flags into etcd's configuration. It changes into the
// socket's folder: the path of a unix socket may hold 107 bytes, which a data
// folder deep in a home directory exceeds, and a bare file name never does.
func etcdConfig(f etcdFlags) (*embed.Config, error) {
	dataDir, err := filepath.Abs(f.dataDir)
	if err != nil {
		return nil, fmt.Errorf("finding --data-dir: %w", err)
	}
	dir, base := filepath.Split(f.socket)
	if dir != "" {
		if err := os.Chdir(dir); err != nil {
			return nil, fmt.Errorf("entering the folder of --socket: %w", err)
		}
	}
	client := url.URL{Scheme: "unix", Host: base}
	peer := url.URL{Scheme: "unix", Host: base + ".peer"}

	cfg := embed.NewConfig()
	cfg.Name = memberName
	cfg.Dir = dataDir
	cfg.ListenClientUrls = []url.URL{client}
	cfg.AdvertiseClientUrls = []url.URL{client}
	cfg.ListenPeerUrls = []url.URL{peer}
	cfg.AdvertisePeerUrls = []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(memberName)
	cfg.AutoCompactionMode = embed.CompactorModePeriodic
	cfg.AutoCompactionRetention = f.compaction
	cfg.UnsafeNoFsync = f.unsafeNoFsync
	cfg.LogLevel = f.logLevel
	cfg.LogOutputs = []string{"stderr"}
	return cfg, nil
}
