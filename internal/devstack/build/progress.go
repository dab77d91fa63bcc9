// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress prints how far a build is: one line that is redrawn on a terminal,
// a line for every twentieth part or half minute elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	start    time.Time
	total    int

	done    int
	printed time.Time
	percent int
}

func newProgress(out io.Writer, total int, now func() time.Time) *progress {
	p := &progress{out: out, now: now, start: now(), printed: now(), total: total}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// compiled counts one package.
func (p *progress) compiled(pkg string) {
	p.done = min(p.done+1, p.total)
	percent := 100 * p.done / max(p.total, 1)
	const step, quiet = 5, 30 * time.Second
	now := p.now()
	last := p.done == p.total
	if !p.terminal && percent < p.percent+step && now.Sub(p.printed) < quiet && !last {
		return
	}
	p.percent, p.printed = percent, now
	what := pkg
	if last {
		what = "linking, which takes half a minute and 3 GB of memory"
	}
	p.line(fmt.Sprintf("%3d %%  %d of %d packages  %s  %s", percent, p.done, p.total, elapsed(now.Sub(p.start)), what))
}

func (p *progress) line(s string) {
	if !p.terminal {
		fmt.Fprintln(p.out, s)
		return
	}
	const width = 110
	if r := []rune(s); len(r) > width {
		s = string(r[:width-1]) + "…"
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", s)
}

// end leaves the redrawn line standing.
func (p *progress) end() {
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}

// elapsed prints whole seconds: 42s, 3m07s.
func elapsed(d time.Duration) string {
	s := int(d.Seconds())
	if s < 60 {
		return fmt.Sprintf("%ds", s)
	}
	return fmt.Sprintf("%dm%02ds", s/60, s%60)
}
