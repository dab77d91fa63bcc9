// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table is the report as text: a line for each kill, with its place, side, write, the server's answer, whether the
// end was right, and the seconds it took.
func (r Report) Table() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "N\tWHEN\tVERB\tPATH\tCODE\tEND\tSECONDS")
	for _, row := range r.Rows {
		code, end := "-", "ok"
		if row.Write.Code != 0 {
			code = fmt.Sprint(row.Write.Code)
		}
		if row.Problem != "" {
			end = "WRONG"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%.1f\n",
			row.Nth, row.When, row.Write.Verb, row.Write.Path, code, end, row.Took.Seconds())
	}
	_ = w.Flush()
	return out.String()
}

// Problems lists what a reader must know: each run that came to a wrong end, and each write of the run without a kill
// that no row stands for. Empty means that the program survives a kill at every write.
func (r Report) Problems() []string {
	var out []string
	for _, row := range r.Rows {
		switch {
		case row.Problem == "":
		case row.Nth == 0:
			out = append(out, fmt.Sprintf("a run ended wrong before it came to its kill: %s", row.Problem))
		default:
			out = append(out, fmt.Sprintf("killed %s write %d (%s): %s", row.When, row.Nth, row.Write, row.Problem))
		}
	}
	for _, when := range []When{Before, After} {
		// Past the shortest run, a number stands for a write that some runs don't make; by name it must have a row all the same.
		for n, w := range r.Writes[:min(r.Shortest, len(r.Writes))] {
			if !r.killedAt(n+1, when) {
				out = append(out, fmt.Sprintf("no run was killed %s write %d (%s): in %d tries the program made fewer writes",
					when, n+1, w, tries))
			}
		}
		for _, w := range r.missed(when) {
			out = append(out, fmt.Sprintf("no run was killed %s %s: in %d tries the program did not make that write", when, w, tries))
		}
	}
	return out
}

func (r Report) killedAt(nth int, when When) bool {
	for _, row := range r.Rows {
		if row.Nth == nth && row.When == when {
			return true
		}
	}
	return false
}

// missed lists the writes, each once, of the run without a kill at which no row was killed on this side.
func (r Report) missed(when When) []Write {
	var out []Write
	for _, w := range r.Writes {
		if !r.has(w, when) && !contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func (r Report) has(w Write, when When) bool {
	for _, row := range r.Rows {
		if row.When == when && row.Write.same(w) {
			return true
		}
	}
	return false
}

func contains(writes []Write, w Write) bool {
	for _, seen := range writes {
		if seen.same(w) {
			return true
		}
	}
	return false
}
