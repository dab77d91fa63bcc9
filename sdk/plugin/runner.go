// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

// lastWords is how long the end of a process waits for what is still in its pipes, and for a slow log.
const lastWords = time.Second

// process is one run of a plugin's binary. To go-plugin it is a runner, whose two streams are not the plugin's own: standard output
// ends after the handshake and standard error is empty, so that go-plugin never waits for a pipe that a grandchild holds open.
type process struct {
	path   string
	binary *binary
	env    []string
	expect expected
	output *output
	marker string

	cmd        *exec.Cmd
	parent     *os.File // the end of this pipe tells the plugin that its host is gone
	endParent  sync.Once
	pipes      []*os.File // our ends of the plugin's streams
	copying    sync.WaitGroup
	handshake  *io.PipeReader // go-plugin's view of the standard output
	handshaker *io.PipeWriter
	silence    *io.PipeReader // go-plugin's view of the standard error
	silencer   *io.PipeWriter

	started chan struct{} // closed once there is a process
	exited  chan struct{} // closed once the process and all that it started are gone; state is set
	state   *os.ProcessState

	mu      sync.Mutex
	verdict *StartError // on the first line, where that is no handshake
	agreed  bool        // the first line was a handshake
}

var _ runner.Runner = (*process)(nil)

func newProcess(l Launch, b *binary, folder, marker string) *process {
	p := &process{
		path: l.Path, binary: b, output: newOutput(l.Output), marker: marker,
		expect:  expected{name: l.name(), versions: l.Versions, folder: folder},
		started: make(chan struct{}), exited: make(chan struct{}),
	}
	p.handshake, p.handshaker = io.Pipe()
	p.silence, p.silencer = io.Pipe()
	return p
}

// Start implements runner.Runner.
func (p *process) Start(ctx context.Context) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer outW.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		_ = outR.Close()
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer errW.Close()
	parentR, parentW, err := os.Pipe()
	if err != nil {
		_, _ = outR.Close(), errR.Close()
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer parentR.Close()
	p.pipes, p.parent = []*os.File{outR, errR}, parentW

	if err := p.exec(ctx, outW, errW, parentR); err != nil {
		_, _, _ = outR.Close(), errR.Close(), parentW.Close()
		return err
	}
	close(p.started)
	p.copying.Add(2)
	go p.readOutput(outR)
	go p.readErrors(errR)
	go p.watch()
	return nil
}

// exec starts the binary, whose descriptor 3 is the pipe from its host. Its name is the path, whatever is executed.
func (p *process) exec(ctx context.Context, stdout, stderr, parent *os.File) error {
	const tick, most = 10 * time.Millisecond, 100
	path, files := p.binary.command()
	for try := 0; ; try++ {
		p.cmd = &exec.Cmd{Path: path, Args: []string{p.path}, Env: p.env, Stdout: stdout, Stderr: stderr, ExtraFiles: append([]*os.File{parent}, files...)}
		ownGroup(p.cmd)
		if p.binary.changed() {
			return errReplaced
		}
		err := p.cmd.Start()
		// Busy: a child of ours that is between fork and exec has inherited a descriptor that the file was written through.
		if !errors.Is(err, syscall.ETXTBSY) || try == most {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tick):
		}
	}
}

// readOutput judges the first line, lets go-plugin have it, and takes the rest for itself.
func (p *process) readOutput(r io.Reader) {
	defer p.copying.Done()
	buffered := bufio.NewReaderSize(r, longestHandshake)
	line, err := readLine(buffered)
	if line != "" || err == nil {
		if verdict := p.expect.judge(line); verdict != nil {
			p.judged(verdict)
			p.output.line(line)
		} else {
			p.judged(nil)
			_, _ = io.WriteString(p.handshaker, line+"\n")
		}
	}
	_ = p.handshaker.Close()
	if err == nil {
		p.output.copyLines(buffered)
	}
}

func (p *process) readErrors(r io.Reader) {
	defer p.copying.Done()
	p.output.copyLines(bufio.NewReaderSize(r, longestLine))
}

func (p *process) judged(e *StartError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verdict, p.agreed = e, e == nil
}

// handshaken says whether the process wrote a handshake.
func (p *process) handshaken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.agreed
}

func (p *process) firstLine() *StartError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.verdict
}

// watch waits for the end of the process, and then ends all that is left of it. The process is only taken off the system's table
// afterwards: as long as it is there, nobody else gets its number.
func (p *process) watch() {
	family := &family{leader: p.cmd.Process.Pid, marker: launchEnv + "=" + p.marker}
	family.waitForLeader()
	family.end()
	// The error is in the state, or there is none.
	_ = p.cmd.Wait()
	p.state = p.cmd.ProcessState
	p.hangUp()
	waitAtMost(lastWords, p.copying.Wait)
	for _, pipe := range p.pipes {
		_ = pipe.Close()
	}
	close(p.exited)
	_, _ = p.handshaker.Close(), p.silencer.Close()
}

// hangUp tells the plugin that it has no host any more.
func (p *process) hangUp() { p.endParent.Do(func() { _ = p.parent.Close() }) }

// waitAtMost waits for what should be there within no time. What is later goes on by itself.
func waitAtMost(limit time.Duration, wait func()) {
	ended := make(chan struct{})
	go func() { defer close(ended); wait() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
}

// endsWithin says whether the process ends by itself within the time.
func (p *process) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// words says how the process ended.
func (p *process) words() string { return exitWords(p.state) }

// signal sends to the process, and never to one that got its number later.
func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Wait implements runner.AttachedRunner.
func (p *process) Wait(context.Context) error {
	<-p.exited
	return nil
}

// Kill implements runner.AttachedRunner. A process that is stopped or ignores signals ends by it too.
func (p *process) Kill(context.Context) error {
	p.signal(os.Kill)
	return nil
}

// ID implements runner.AttachedRunner.
func (p *process) ID() string {
	if p.cmd == nil || p.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

// Stdout implements runner.Runner.
func (p *process) Stdout() io.ReadCloser { return p.handshake }

// Stderr implements runner.Runner.
func (p *process) Stderr() io.ReadCloser { return p.silence }

// Name implements runner.Runner.
func (p *process) Name() string { return p.path }

// Diagnose implements runner.Runner. Dial has words of its own.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.AddrTranslator. The address was judged with the rest of the handshake.
func (p *process) PluginToHost(network, address string) (hostNetwork, hostAddress string, err error) {
	return network, address, nil
}

// HostToPlugin implements runner.AddrTranslator.
func (p *process) HostToPlugin(network, address string) (pluginNetwork, pluginAddress string, err error) {
	return network, address, nil
}
