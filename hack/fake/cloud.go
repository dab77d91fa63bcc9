// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/fake/httpcloud"
)

// serveCloud serves the cloud until ctx ends:
//
//	fake cloud --listen 127.0.0.1:PORT --data FOLDER [--kubeconfig NAME=FILE]...
//
// FAKE_TOKEN is the token that lets plugins in, FAKE_ADMIN_TOKEN the one for /v1/admin; without it, that is the same.
func serveCloud(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cloud", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "the address to listen on, of this machine only")
	data := flags.String("data", "", "the folder in which the cloud keeps everything")
	kubeconfigs := map[string]string{}
	flags.Func("kubeconfig", "NAME=FILE of a control plane that clusters can be backed by; may be given several times", func(text string) error {
		name, path, found := strings.Cut(text, "=")
		if !found || name == "" || path == "" {
			return errors.New("must be NAME=FILE")
		}
		kubeconfigs[name] = path
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	token := os.Getenv(tokenName)
	address, err := netip.ParseAddrPort(*listen)
	switch {
	case err != nil || !address.Addr().IsLoopback():
		return fmt.Errorf("--listen %q must be an address of this machine and a port, such as 127.0.0.1:8080", *listen)
	case *data == "":
		return errors.New("--data is missing: give a folder in which the cloud may keep things")
	case token == "":
		return fmt.Errorf("%s is missing in the environment: give the token that lets plugins in", tokenName)
	}
	cloud, err := httpcloud.New(httpcloud.Options{
		Folder: *data, Kubeconfigs: kubeconfigs, Tokens: map[string]httpcloud.Token{token: {Name: "operator"}},
		AdminToken: cmp.Or(os.Getenv("FAKE_ADMIN_TOKEN"), token),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address.String())
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Fprintf(os.Stderr, "the cloud listens on %s\n", listener.Addr())
	server := &http.Server{Handler: cloud, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
