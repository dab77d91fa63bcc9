// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import "strings"

// expand replaces $(NAME) by its value and $$ by $. A name that isn't known
// stays as it was written, as Kubernetes has it.
func expand(text string, known map[string]string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i+1:]
		switch text[0] {
		case '$':
			b.WriteByte('$')
			text = text[1:]
		case '(':
			end := strings.IndexByte(text, ')')
			if end < 0 {
				b.WriteByte('$')
				continue
			}
			if value, ok := known[text[1:end]]; ok {
				b.WriteString(value)
			} else {
				b.WriteString("$" + text[:end+1])
			}
			text = text[end+1:]
		default:
			b.WriteByte('$')
		}
	}
}

func expandAll(texts []string, known map[string]string) []string {
	out := make([]string, 0, len(texts))
	for _, t := range texts {
		out = append(out, expand(t, known))
	}
	return out
}
