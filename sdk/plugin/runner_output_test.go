// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
)

// printing sends text through an output as a plugin's stream does, and returns what came out and the last words.
func printing(text string) (out, last string) {
	var log bytes.Buffer
	o := newOutput(&log)
	o.copyLines(bufio.NewReaderSize(strings.NewReader(text), longestLine))
	o.close()
	<-o.drained
	return log.String(), o.lastLine()
}

func TestOutputLines(t *testing.T) {
	long := strings.Repeat("x", longestLine)
	for name, c := range map[string]struct{ reason, text, want, last string }{
		"nothing":         {reason: "a quiet plugin"},
		"lines":           {reason: "one after the other", text: "a\nb\n", want: "a\nb\n", last: "b"},
		"no end":          {reason: "the last words often have none", text: "a\nb", want: "a\nb\n", last: "b"},
		"empty lines":     {reason: "they are kept, and tell nothing", text: "a\n\n \n", want: "a\n\n \n", last: "a"},
		"other ends":      {reason: "written for another system", text: "a\r\n", want: "a\n", last: "a"},
		"long":            {reason: "memory is bounded", text: long + "yz\n", want: long + "\nyz\n", last: "yz"},
		"panic":           {reason: "the first line tells, not the last frame of the stack", text: "a\npanic: b\n\ngoroutine 1:\n", want: "a\npanic: b\n\ngoroutine 1:\n", last: "panic: b"},
		"fatal error":     {reason: "the runtime's own", text: "fatal error: all goroutines are asleep\nx\n", want: "fatal error: all goroutines are asleep\nx\n", last: "fatal error: all goroutines are asleep"},
		"go-plugin's log": {reason: "only what went wrong, without times and paths", text: `{"@level":"error","@message":"no","error":"why","@timestamp":"1"}`, want: `{"@level":"error","@message":"no","error":"why","@timestamp":"1"}` + "\n", last: "no: why"},
		"its debug lines": {reason: "they explain no end", text: "a\n" + `{"@level":"debug","@message":"x"}`, want: "a\n" + `{"@level":"debug","@message":"x"}` + "\n", last: "a"},
		"somebody's JSON": {reason: "another log format", text: `{"level":"error"}`, want: `{"level":"error"}` + "\n", last: `{"level":"error"}`},
	} {
		if out, last := printing(c.text); out != c.want || last != c.last {
			t.Errorf("%s: came out as %.80q with the last words %.80q, want %.80q and %.80q: %s", name, out, last, c.want, c.last, c.reason)
		}
	}
}

// blockedUntil is a log that takes nothing until it may.
type blockedUntil struct {
	may chan struct{}
	to  io.Writer
}

func (b blockedUntil) Write(p []byte) (int, error) {
	<-b.may
	return b.to.Write(p)
}

func TestOutputDropsForASlowLog(t *testing.T) {
	var log bytes.Buffer
	may := make(chan struct{})
	o := newOutput(blockedUntil{may: may, to: &log})
	const lines = 10 * linesWaiting
	for range lines {
		o.line("x")
	}
	close(may)
	// There is room again once the log has taken a line, and then the number comes first.
	for len(o.waiting) == linesWaiting {
		runtime.Gosched()
	}
	o.line("last")
	o.close()
	<-o.drained
	if !strings.Contains(log.String(), "lines were dropped") || !strings.HasSuffix(log.String(), "last\n") {
		t.Errorf("the log ends with %.200q, without the number of lines that were dropped", log.String()[max(0, log.Len()-200):])
	}
	kept := strings.Count(log.String(), "x\n")
	if kept < linesWaiting || kept > linesWaiting+10 {
		t.Errorf("%d of %d lines were kept, want about %d", kept, lines, linesWaiting)
	}
	o.line("after the end")
	o.close()
}

func TestLineWriter(t *testing.T) {
	var log bytes.Buffer
	o := newOutput(&log)
	w := &lineWriter{to: o}
	for _, piece := range []string{"a", "b\nc", "\n\n", strings.Repeat("x", longestLine+1)} {
		if n, err := io.WriteString(w, piece); n != len(piece) || err != nil {
			t.Errorf("writing gives %d, %v", n, err)
		}
	}
	o.close()
	<-o.drained
	if want := "ab\nc\n\n" + strings.Repeat("x", longestLine) + "\n"; log.String() != want {
		t.Errorf("came out as %q", log.String())
	}
}

func TestQuote(t *testing.T) {
	for name, c := range map[string]struct{ reason, line, want string }{
		"plain":          {reason: "as it is", line: "hello from init\r\n", want: `"hello from init"`},
		"colours":        {reason: "a terminal must not obey it", line: "\x1b[31mred\a", want: "\"\uFFFD[31mred\uFFFD\""},
		"not text":       {reason: "a condition's message is UTF-8", line: "a\xff\xfeb", want: "\"a\uFFFDb\""},
		"long":           {reason: "it is cut", line: strings.Repeat("é", 300), want: `"` + strings.Repeat("é", 98) + `…"`},
		"other language": {reason: "letters are letters", line: "привет", want: `"привет"`},
	} {
		if got := quote(c.line); got != c.want {
			t.Errorf("%s: %s, want %s: %s", name, got, c.want, c.reason)
		}
	}
}
