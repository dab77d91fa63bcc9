// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// output takes what a container prints and writes it to a file, in the format that
// container runtimes use: "<time> stdout F <line>", with P instead of F where a
// line goes on.
type output struct {
	stdout, stderr *os.File // for the container

	file  *os.File
	ends  []*os.File
	mu    sync.Mutex // one line at a time
	reads sync.WaitGroup
	now   func() time.Time
}

// lineLimit is from how many bytes on a line is split.
const lineLimit = 16 << 10

func openLog(path string, now func() time.Time) (*output, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	o := &output{file: file, now: now}
	outR, outW, err := os.Pipe()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("making a pipe for the log: %w", err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		file.Close()
		outR.Close()
		outW.Close()
		return nil, fmt.Errorf("making a pipe for the log: %w", err)
	}
	o.stdout, o.stderr, o.ends = outW, errW, []*os.File{outR, errR}
	o.reads.Go(func() { o.copy("stdout", outR) })
	o.reads.Go(func() { o.copy("stderr", errR) })
	return o, nil
}

// started is called when the container has its own copies of the pipes, or
// never will: ours would keep the reading from ending.
func (o *output) started() {
	o.stdout.Close()
	o.stderr.Close()
}

// drained returns when everything that was printed is in the file.
func (o *output) drained() { o.reads.Wait() }

func (o *output) close() {
	o.started()
	o.reads.Wait()
	for _, r := range o.ends {
		r.Close()
	}
	o.file.Close()
}

func (o *output) copy(stream string, from io.Reader) {
	lines := bufio.NewReaderSize(from, lineLimit)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			o.line(stream, line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (o *output) line(stream string, line []byte) {
	tag := "P"
	if text, whole := bytes.CutSuffix(line, []byte{'\n'}); whole {
		tag, line = "F", text
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// What can't be written is lost: the container must not wait for a full disk.
	_, _ = fmt.Fprintf(o.file, "%s %s %s %s\n", o.now().UTC().Format(time.RFC3339Nano), stream, tag, line)
}

// tail is the end of a log as a termination message.
func tail(path string) string {
	const most, lines = 2048, 80
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var texts []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.SplitN(line, " ", 4); len(fields) == 4 {
			texts = append(texts, fields[3])
		}
	}
	text := strings.Join(texts[max(len(texts)-lines, 0):], "")
	return strings.ToValidUTF8(text[max(len(text)-most, 0):], "")
}
