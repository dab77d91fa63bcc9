// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"darkshift.io/infrared/sdk/plugin/internal/stdout"
	"darkshift.io/infrared/sdk/provider"
)

const (
	// windDown is how long running verbs have to come to an end when the plugin does.
	windDown = 7 * time.Second
	// flush is how long answers that were given may take to leave.
	flush = time.Second
)

// The exit codes of a plugin's program.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `This program is an Infrared provider plugin: Infrared starts it. By hand:

  %[1]s describe        prints what the provider says about itself, as JSON
  %[1]s serve --debug   serves until Ctrl-C, for an Infrared that attaches to it
`

// Serve is the main of a plugin's program, and never returns.
//
// Started by a host it serves p until the host stops it or goes away. Started by hand it takes "describe", which prints the
// facts and capabilities as JSON, and "serve --debug", which serves p to a host that attaches and prints how. The exit
// code is 0, or 1 with a line on standard error where it could not serve, or 2 for other arguments.
//
// In a plugin that a host started, what is printed to standard output ends up on standard error, from the first package's
// initialisation on.
func Serve(p provider.Provider, facts provider.Facts) {
	// Serve is the program's main, so it begins the context.
	ctx := context.Background() //nolint:forbidigo // Serve is the main of a program
	os.Exit(run(ctx, program{provider: p, facts: facts, args: os.Args[1:], versions: protocols()}))
}

// program is what was started, and how.
type program struct {
	provider provider.Provider
	facts    provider.Facts
	args     []string
	versions []protocol
}

// run does what the arguments say and returns the exit code.
func run(ctx context.Context, p program) int {
	fd, first := stdout.Take()
	switch {
	case !first:
		return fail("Serve was called a second time; a program serves one provider")
	case p.provider == nil:
		return fail("Serve was called without a provider")
	}
	if err := p.facts.Check(); err != nil {
		return fail(FactsInvalid + err.Error())
	}
	started := os.Getenv(MagicCookieKey) == MagicCookieValue
	var err error
	switch {
	case started && len(p.args) == 0:
		err = serveHost(ctx, NewServer(p.provider, p.facts), p.versions, handshakeFile(fd))
	case slices.Equal(p.args, []string{"describe"}):
		err = writeDescription(realStdout(fd), NewServer(p.provider, p.facts).description)
	case slices.Equal(p.args, []string{"serve", "--debug"}):
		err = serveDebug(ctx, NewServer(p.provider, p.facts, Resume()), realStdout(fd), os.Stderr)
	default:
		fmt.Fprintf(os.Stderr, usage, filepath.Base(os.Args[0]))
		return exitUsage
	}
	if err != nil {
		return fail(err.Error())
	}
	return exitDone
}

func fail(why string) int {
	// Not os.Stderr, which go-plugin may have replaced by something that loses the last line.
	fmt.Fprintln(os.NewFile(uintptr(syscall.Stderr), "stderr"), why)
	return exitFailed
}

// handshakeFile is where the host waits for the handshake; nil where standard output was not moved.
func handshakeFile(fd int) *os.File {
	if fd == stdout.None {
		return nil
	}
	return os.NewFile(uintptr(fd), "handshake")
}

// realStdout is the program's own standard output, wherever it was moved.
func realStdout(fd int) io.Writer {
	if f := handshakeFile(fd); f != nil {
		return f
	}
	return os.Stdout
}

// drain asks what runs to wind down, and gives it time for that.
func (s *Server) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, windDown)
	defer cancel()
	if err := s.calls.stop(ctx); err != nil {
		fmt.Fprintf(s.log, "the plugin ends although a verb %v\n", err)
	}
}

// finish ends a gRPC server once the answers that were given have left, soon in any case.
func finish(g *grpc.Server) {
	soon := time.AfterFunc(flush, g.Stop)
	defer soon.Stop()
	g.GracefulStop()
}
