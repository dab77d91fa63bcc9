// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"darkshift.io/infrared/sdk/provider"
)

// Launch is how a plugin is started.
type Launch struct {
	// Path is the absolute path of the binary. Its last element names the plugin in messages.
	Path string
	// SHA256 is the only content that may be executed, in hex; on Linux it is executed through the open file that was read, and scripts
	// are refused. Empty: any content, by its path; for an author's own tests.
	SHA256 string
	// Sums remembers checksums between launches; nil: the binary is read each time.
	Sums *Sums
	// Versions are the protocol versions that the host speaks; nil: all of [Supported].
	Versions []int
	// Env is the plugin's whole environment, NAME=VALUE, beside what it needs to find its host. Nothing of the host's own is
	// passed on.
	Env []string
	// SocketFolder is where the private folder of the plugin's socket is made. Empty: TMPDIR, /tmp or /dev/shm, the first that
	// can be written to and whose path is short enough for a socket.
	SocketFolder string
	// StartTimeout is how long the plugin has until it is ready; 0: 20 s.
	StartTimeout time.Duration
	// Output gets every line that the plugin prints, one a call, with its end. It may be slow: the plugin never waits for it,
	// and lines are dropped then. nil: nobody wants them.
	Output io.Writer
	// DialOptions are for the connection.
	DialOptions []grpc.DialOption
}

// startTimeout is how long a plugin has by default until it is ready. It takes some 20 ms, and a machine can be very busy.
const startTimeout = 20 * time.Second

func (l Launch) name() string { return filepath.Base(l.Path) }

// Dial starts a plugin and returns it once it has answered: the binary is the right one, the handshake is its own, and what it
// says about itself is valid. Every error is a [*StartError], and leaves nothing behind. The plugin outlives ctx.
func Dial(ctx context.Context, l Launch) (*Plugin, error) {
	if l.Versions == nil {
		l.Versions = Supported()
	}
	if l.StartTimeout == 0 {
		l.StartTimeout = startTimeout
	}
	binary, failed := l.open()
	if failed != nil {
		return nil, failed
	}
	defer binary.close()
	folder, failed := newSocketFolder(l.SocketFolder)
	if failed != nil {
		return nil, failed
	}
	s := &start{launch: l, binary: binary, folder: folder}
	p, failed := s.run(ctx)
	if failed == nil {
		return p, nil
	}
	folder.remove()
	// Of a file that is not ours nothing else is worth telling.
	if errors.Is(failed, errReplaced) || binary.replaced() {
		failed = s.replaced()
	}
	return nil, failed
}

// plainCause is an error of the system without the path, which the message names in its own way.
func plainCause(err error) string {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}

// start is one launch under way.
type start struct {
	launch  Launch
	binary  *binary
	folder  *socketFolder
	process *process
	client  *goplugin.Client
	running *running
}

func (s *start) run(ctx context.Context) (*Plugin, *StartError) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.launch.StartTimeout, errStartTimeout)
	defer cancel()
	if err := s.prepare(); err != nil {
		return nil, startErrorf(ReasonStartFailed, err, "%s can't be started: %v", s.launch.name(), err)
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	p := &Plugin{conn: conn, protocol: s.client.NegotiatedVersion(), done: make(chan struct{}), running: s.running, process: s.process}
	if err := p.Ping(ctx); err != nil {
		return nil, s.failed(ctx, fmt.Errorf("the first ping: %w", err))
	}
	p.description, err = Describe(ctx, conn)
	if provider.KindOf(err) == provider.Invalid {
		s.end()
		return nil, startErrorf(ReasonFactsInvalid, err, "what %s says about itself is not valid: %v", s.launch.name(), err)
	}
	if err != nil {
		return nil, s.failed(ctx, fmt.Errorf("asking it who it is: %w", err))
	}
	if s.binary.replaced() {
		s.end()
		return nil, s.replaced()
	}
	go func() {
		<-s.process.exited
		s.end()
		s.folder.remove()
		p.finish()
	}()
	return p, nil
}

func (s *start) replaced() *StartError {
	return startErrorf(ReasonChecksumMismatch, errReplaced, "the binary %s was replaced by another than the pinned one while it was started", s.launch.name())
}

// errStartTimeout tells the end of the start time-out from a caller that gave up.
var errStartTimeout = errors.New("the start time-out is over")

// prepare makes the go-plugin client, which starts nothing yet.
func (s *start) prepare() error {
	certificate, tlsConfig, err := newClientIdentity()
	if err != nil {
		return err
	}
	marker := filepath.Base(s.folder.path)
	s.process = newProcess(s.launch, s.binary, s.folder.path, marker)
	s.running = newRunning()
	own := []string{launchEnv + "=" + marker, EnvParent + "=3", clientCertEnv + "=" + certificate}
	versions := map[int]goplugin.PluginSet{}
	for _, v := range s.launch.Versions {
		versions[v] = goplugin.PluginSet{}
	}
	s.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: versions,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		TLSConfig:        tlsConfig,
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: s.folder.path},
		// Ours ends sooner.
		StartTimeout:    2 * s.launch.StartTimeout,
		Logger:          hclog.NewNullLogger(),
		SyncStdout:      &lineWriter{to: s.process.output},
		SyncStderr:      &lineWriter{to: s.process.output},
		GRPCDialOptions: slices.Concat(dialOptions(s.running), s.launch.DialOptions),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			// The last of two lines for one name counts. The folder that go-plugin made below ours would make the path too long.
			s.process.env = slices.Concat(s.launch.Env, cmd.Env, own, []string{goplugin.EnvUnixSocketDir + "=" + s.folder.path})
			return s.process, nil
		},
	})
	return nil
}

// connect starts the process and connects to it. go-plugin takes no context; the end of the process ends its waiting.
func (s *start) connect(ctx context.Context) (*grpc.ClientConn, error) {
	type result struct {
		protocol goplugin.ClientProtocol
		err      error
	}
	results := make(chan result, 1)
	go func() {
		protocol, err := s.client.Client()
		results <- result{protocol, err}
	}()
	var got result
	select {
	case got = <-results:
	case <-ctx.Done():
		select {
		case <-s.process.started:
			s.process.signal(os.Kill)
			<-results
		case <-results:
		}
		return nil, context.Cause(ctx)
	}
	if got.err != nil {
		return nil, got.err
	}
	c, ok := got.protocol.(*goplugin.GRPCClient)
	if !ok {
		return nil, errors.New("it does not speak gRPC")
	}
	return c.Conn, nil
}

// failed ends what was started and says why it did not work.
func (s *start) failed(ctx context.Context, err error) *StartError {
	timedOut := errors.Is(context.Cause(ctx), errStartTimeout)
	if s.process.ID() == "" {
		return s.notStarted(err)
	}
	// A process that ends by itself gets the time to do so, so that the message is about that and not about the connection.
	crashed := !timedOut && ctx.Err() == nil && s.process.firstLine() == nil && s.process.endsWithin(lastWords)
	s.end()
	name := s.launch.name()
	verdict := s.process.firstLine()
	last := s.process.output.lastLine()
	facts, saysFacts := strings.CutPrefix(last, FactsInvalid)
	switch {
	case verdict != nil:
		return verdict
	case crashed && saysFacts:
		return startErrorf(ReasonFactsInvalid, err, "what %s says about itself is not valid: %s", name, facts)
	case crashed:
		return startErrorf(ReasonCrashedAtStart, err, "%s %s before it was ready", name, withLine(s.process.words(), last))
	case s.process.handshaken() && (timedOut || ctx.Err() == nil):
		return startErrorf(ReasonForgedHandshake, err, "%s wrote a handshake, and no plugin that this host started answers at its address", name)
	case timedOut && last != "":
		return startErrorf(ReasonSilent, err, "%s was started and wrote no handshake within %s; the last that it printed is %s", name, s.launch.StartTimeout, quote(last))
	case timedOut:
		return startErrorf(ReasonSilent, err, "%s was started and wrote no handshake within %s", name, s.launch.StartTimeout)
	case ctx.Err() != nil:
		return startErrorf(ReasonStartFailed, err, "the start of %s was given up: %v", name, context.Cause(ctx))
	}
	return startErrorf(ReasonStartFailed, err, "%s can't be started: %v", name, err)
}

// notStarted says why there is no process at all.
func (s *start) notStarted(err error) *StartError {
	name := s.launch.name()
	s.process.output.close()
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return startErrorf(ReasonNotExecutable, err, "%s is no program for this machine: build it for this operating system and architecture", name)
	case errors.Is(err, fs.ErrPermission):
		return startErrorf(ReasonNotExecutable, err, "%s may not be executed: set its mode to 0755, on a file system that is not mounted noexec", name)
	case errors.Is(err, fs.ErrNotExist):
		return startErrorf(ReasonNotExecutable, err, "%s needs a program to run it, which is not there: build it without dynamic libraries", name)
	}
	return startErrorf(ReasonStartFailed, err, "%s can't be started: %s", name, plainCause(err))
}

// end takes the process and go-plugin's side of it away. Kill first: on a process that is stopped, go-plugin's own Kill waits for
// an answer that never comes.
func (s *start) end() {
	s.process.signal(os.Kill)
	<-s.process.exited
	s.client.Kill()
	s.process.output.close()
	waitAtMost(lastWords, func() { <-s.process.output.drained })
}
