// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Killproxy is the kill proxy by hand: it writes a kubeconfig for the program to look at, lists the writes that the
// program makes, and with -pid kills it at one of them.
//
//	go run ./hack/killproxy/cmd -kubeconfig .dev/operator.kubeconfig -out .dev/killproxy.kubeconfig
//	go run ./hack/killproxy/cmd … -pid 4711 -nth 3 -when after
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"darkshift.io/infrared/hack/killproxy"
	"darkshift.io/infrared/sdk/kubeconfig"
)

func main() {
	from := flag.String("kubeconfig", "", "kubeconfig, with a token, of the API server to stand in front of")
	out := flag.String("out", "", "file to write the program's kubeconfig to")
	pid := flag.Int("pid", 0, "process to kill; 0 kills nothing and lists the writes")
	nth := flag.Int("nth", 1, "write to kill at, counted from 1")
	when := flag.String("when", string(killproxy.Before), "side of the write: before or after")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *from, *out, *pid, *nth, killproxy.When(*when)); err != nil {
		fmt.Fprintln(os.Stderr, "killproxy:", err)
		os.Exit(1)
	}
}

// run stands in front of the API server until ctx ends, and then lists the writes it saw.
func run(ctx context.Context, from, out string, pid, nth int, when killproxy.When) error {
	if when != killproxy.Before && when != killproxy.After {
		return fmt.Errorf("-when %q: want before or after", when)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	config, err := kubeconfig.Read(data)
	if err != nil {
		return fmt.Errorf("-kubeconfig %q: %w", from, err)
	}
	if config.Token.IsZero() {
		return errors.New("-kubeconfig: its user has no token, and a client certificate does not get through a proxy")
	}
	proxy, err := killproxy.New(killproxy.Options{Upstream: config.Server, CA: config.CAData})
	if err != nil {
		return err
	}
	defer func() { _ = proxy.Close() }()
	if err := os.WriteFile(out, proxy.Kubeconfig(config.Token.Reveal()), 0o600); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	if pid != 0 {
		proxy.Arm(nth, when, func() {
			fmt.Printf("killing %d %s write %d\n", pid, when, nth)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		})
	}
	fmt.Printf("listening on %s; stop with Ctrl-C to see the writes\n", proxy.URL())
	<-ctx.Done()
	for i, w := range proxy.Writes() {
		fmt.Printf("%d\t%d\t%s\n", i+1, w.Code, w)
	}
	return nil
}
