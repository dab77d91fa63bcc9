// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// largestLog is how much of the newest output is kept in the record, in bytes.
const largestLog = 512 << 10

// output takes what people read, without secrets: it writes it on, and keeps the newest part.
type output struct {
	red redactor

	mu      sync.Mutex
	to      io.Writer
	kept    []byte
	changed bool
}

// Write takes whole lines. It never fails: a reader that went away must not stop a run.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	clean := o.red.text(strings.ToValidUTF8(string(p), "\uFFFD"))
	_, _ = io.WriteString(o.to, clean)
	o.kept = append(o.kept, clean...)
	// Twice the size before it is cut, or each line would move all the others.
	if len(o.kept) > 2*largestLog {
		o.kept = bytes.Clone(newest(o.kept, largestLog))
	}
	o.changed = true
	return len(p), nil
}

// say writes a line of our own.
func (o *output) say(text string) {
	_, _ = o.Write([]byte("Infrared: " + strings.TrimSpace(text) + "\n"))
}

// news says whether there is something new since it was last asked.
func (o *output) news() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.changed
	o.changed = false
	return was
}

// log is the newest part, of so many bytes at most.
func (o *output) log(most int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(newest(o.kept, max(0, min(most, largestLog))))
}

// newest is the end of a text, from the beginning of a line.
func newest(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return text[end+1:]
	}
	return bytes.ToValidUTF8(text, nil)
}
