// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	// longestLine is where a line without an end is broken.
	longestLine = 8 << 10
	// linesWaiting is how many lines wait for a slow reader at most, so about 2 MiB.
	linesWaiting = 256
)

// output carries the lines that a plugin prints to a writer. The plugin never waits for that writer: when it is slow, lines are
// dropped and their number is told.
type output struct {
	waiting chan string   // nil: nobody wants the lines
	drained chan struct{} // closed once the writer has had all

	mu      sync.Mutex
	dropped int
	closed  bool
	last    string // the line that tells most about an end: a panic's first, otherwise the last
	panics  bool   // last is a panic's
}

func newOutput(to io.Writer) *output {
	o := &output{drained: make(chan struct{})}
	if to == nil {
		close(o.drained)
		return o
	}
	o.waiting = make(chan string, linesWaiting)
	go func() {
		defer close(o.drained)
		for line := range o.waiting {
			// There is nobody to tell that a log can't be written.
			_, _ = io.WriteString(to, line+"\n")
		}
	}()
	return o
}

// line takes one line, without its end.
func (o *output) line(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if words := telling(line); words != "" && !o.panics {
		o.panics = strings.HasPrefix(words, "panic: ") || strings.HasPrefix(words, "fatal error: ")
		o.last = words
	}
	if o.waiting == nil || o.closed {
		return
	}
	if o.dropped > 0 {
		select {
		case o.waiting <- fmt.Sprintf("(%d lines were dropped: they came faster than they could be logged)", o.dropped):
			o.dropped = 0
		default:
		}
	}
	select {
	case o.waiting <- line:
	default:
		o.dropped++
	}
}

// telling is what of a line may explain an end. Of go-plugin's own log, one JSON object a line with times and paths in it, it is the
// message of what went wrong.
func telling(line string) string {
	line = strings.TrimSpace(line)
	var entry struct {
		Level   string `json:"@level"`
		Message string `json:"@message"`
		Error   string `json:"error"`
	}
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &entry) != nil || entry.Level == "" {
		return line
	}
	switch {
	case entry.Level != "error" && entry.Level != "warn":
		return ""
	case entry.Error != "":
		return entry.Message + ": " + entry.Error
	}
	return entry.Message
}

// lastLine is what the plugin said that tells most about its end.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// close takes no more lines. Those that wait are still written.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && o.waiting != nil {
		close(o.waiting)
	}
	o.closed = true
}

// copyLines hands on what r gives until it ends.
func (o *output) copyLines(r *bufio.Reader) {
	for {
		line, err := readLine(r)
		if line != "" || err == nil {
			o.line(line)
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line without its end, or as much of it as the reader's buffer holds. With an error, the line is what
// was there before the end.
func readLine(r *bufio.Reader) (string, error) {
	part, err := r.ReadSlice('\n')
	line := strings.TrimRight(string(part), "\r\n")
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return line, err
}

// lineWriter is an io.Writer for one stream of text.
type lineWriter struct {
	to      *output
	pending []byte
}

// Write takes any piece of the stream.
func (w *lineWriter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' {
			w.pending = append(w.pending, b)
		}
		if b == '\n' || len(w.pending) >= longestLine {
			w.to.line(strings.TrimRight(string(w.pending), "\r"))
			w.pending = w.pending[:0]
		}
	}
	return len(p), nil
}
