// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// manyStale is from how many packages on a build counts as one from nothing,
// whose cost is announced and whose disk is checked in full.
const manyStale = 400

// Builder builds programs of one repository.
type Builder struct {
	Root string           // the repository
	Out  io.Writer        // where progress goes
	Now  func() time.Time // the clock
}

// Build makes the program's binary under .dev/bin, if what it is made from
// changed. The error of a failed compile carries the compiler's last lines.
func (b Builder) Build(ctx context.Context, p Program) error {
	bin := filepath.Join(b.Root, ".dev", "bin")
	binary := filepath.Join(bin, p.Name)

	tools, err := findToolchain(ctx, filepath.Join(b.Root, p.Dir))
	if err != nil {
		return err
	}
	code, err := b.source(ctx, p)
	if err != nil {
		return err
	}
	flags := p.flags(code.version)
	stamp, err := stampOf(code, flags, p.Env, tools)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("making the folder for programs: %w", err)
	}
	if upToDate(binary, stamp) {
		fmt.Fprintf(b.Out, "%s (%s) is up to date\n", p.Name, code.version)
		return link(bin, p)
	}
	if err := b.compile(ctx, p, tools, code, binary, flags); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted: what is compiled is kept, the next make stack goes on from there")
		}
		return err
	}
	if err := os.WriteFile(binary+".stamp", []byte(stamp+"\n"), 0o644); err != nil {
		return fmt.Errorf("writing the stamp of %s: %w", p.Name, err)
	}
	return link(bin, p)
}

func (b Builder) compile(ctx context.Context, p Program, t toolchain, code source, binary string, flags []string) error {
	start := b.Now()
	fmt.Fprintf(b.Out, "%s (%s): looking at what has to be compiled\n", p.Name, code.version)
	stale, err := b.stale(ctx, code, flags, p.Env)
	if err != nil {
		return err
	}
	need := p.Disk
	if stale < manyStale {
		need = 1 << 30
	} else {
		fmt.Fprintf(b.Out, "%s: %d packages to compile; from nothing this takes %s. It can be interrupted and goes on where it was.\n", p.Name, stale, p.Cost)
	}
	if err := checkDisk(need, t.GOCACHE, t.GOMODCACHE, filepath.Dir(binary)); err != nil {
		return err
	}
	// Beside the file and then renamed: a running control plane keeps the old
	// one, and an interrupted link leaves no half of a program.
	args := append([]string{"build", "-v", "-o", binary + ".new"}, flags...)
	progress := newProgress(b.Out, stale, b.Now)
	output, err := goCommand(ctx, code.dir, p.Env, append(args, code.pkg), progress.compiled)
	progress.end()
	if err != nil {
		return fmt.Errorf("compiling %s: %w", p.Name, explain(err, output))
	}
	if err := os.Rename(binary+".new", binary); err != nil {
		return fmt.Errorf("putting %s in place: %w", p.Name, err)
	}
	fmt.Fprintf(b.Out, "%s: built in %s\n", p.Name, elapsed(b.Now().Sub(start)))
	return nil
}

// stale counts the packages that the build will compile. It downloads the
// modules, where they are not there yet.
func (b Builder) stale(ctx context.Context, code source, flags, env []string) (int, error) {
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, flags...)
	downloads := 0
	cmd := exec.CommandContext(ctx, "go", append(args, code.pkg)...)
	cmd.Dir, cmd.Env = code.dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout = &out
	output, err := readLines(cmd, func(line string) bool {
		if !strings.HasPrefix(line, "go: downloading ") {
			return false
		}
		if downloads++; downloads%25 == 1 {
			fmt.Fprintf(b.Out, "downloading modules (%d so far, about 2 GB in all)\n", downloads)
		}
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("listing what has to be compiled: %w", explain(err, output))
	}
	return len(strings.Fields(out.String())), nil
}

// goCommand runs go, calls compiled for each package it names, and returns
// everything else that it printed.
func goCommand(ctx context.Context, dir string, env, args []string, compiled func(pkg string)) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	return readLines(cmd, func(line string) bool {
		if line == "" || strings.HasPrefix(line, "#") || strings.ContainsAny(line, " \t:") {
			return false
		}
		compiled(line)
		return true
	})
}

// readLines runs cmd and hands each line of its error output to take; those it
// doesn't take are returned.
func readLines(cmd *exec.Cmd, take func(line string) bool) ([]string, error) {
	// Asked to stop before it is killed, so that it removes its work folder.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var rest []string
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Text(); !take(line) {
			rest = append(rest, line)
		}
	}
	return rest, cmd.Wait()
}

// explain adds the last lines that go printed, and the way out where the cause
// is known.
func explain(err error, output []string) error {
	const keep = 15
	if len(output) > keep {
		output = output[len(output)-keep:]
	}
	text := strings.Join(output, "\n")
	hints := []struct{ mark, wayOut string }{
		{"no space left on device", "make room on the disk of Go's caches (go env GOCACHE GOMODCACHE) and of the temporary folder, then run it again"},
		{"signal: killed", "the linker needs 3 GB of free memory: close something, then run it again"},
		{"dial tcp", "the modules could not be downloaded: check the network and GOPROXY, then run it again"},
		{"requires go >=", "install the Go version it names"},
	}
	for _, h := range hints {
		if strings.Contains(text, h.mark) {
			return fmt.Errorf("%w: %s\n%s", err, h.wayOut, text)
		}
	}
	return fmt.Errorf("%w\n%s", err, text)
}

// link gives the binary its further names.
func link(bin string, p Program) error {
	for _, name := range p.Links {
		path := filepath.Join(bin, name)
		if target, err := os.Readlink(path); err == nil && target == p.Name {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replacing %s: %w", path, err)
		}
		if err := os.Symlink(p.Name, path); err != nil {
			return fmt.Errorf("linking %s: %w", path, err)
		}
	}
	return nil
}
