// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	_ "embed"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
)

//go:embed policy.yaml
var policy string

func printPolicy(args []string) error {
	var address string
	set := flag.NewFlagSet("realnode policy", flag.ContinueOnError)
	set.StringVar(&address, "api-address", "", "host:port at which the API server listens on this machine")
	if err := set.Parse(args); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--api-address is no address: %w; %s", err, usage)
	}
	if _, err = strings.NewReplacer("API_HOST", host, "API_PORT", port).WriteString(os.Stdout, policy); err != nil {
		return fmt.Errorf("printing the policy: %w", err)
	}
	return nil
}
