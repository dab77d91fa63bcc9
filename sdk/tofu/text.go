// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import "strings"

// cut shortens text to at most n bytes, at the edge of a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// tail keeps the last n bytes of text, from the beginning of a line where there is one.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-n:], "")
	if _, whole, found := strings.Cut(text, "\n"); found {
		text = whole
	}
	return "…\n" + text
}

// nearest is the name that is spelt most like name; empty where none is.
func nearest(name string, names []string) string {
	best, distance := "", max(2, len(name)/3)+1
	for _, candidate := range names {
		if d := edits(strings.ToLower(name), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// edits is how many letters have to be put in, taken out or changed to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(above+1, row[j]+1, change)
			diagonal = above
		}
	}
	return row[len(b)]
}
