// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"darkshift.io/infrared/sdk/provider"
)

// redactor takes the run's secrets out of whatever leaves it.
type redactor struct {
	replace *strings.Replacer
	noise   *regexp.Regexp
}

// newRedactor knows the secrets of a request in every form in which programs print them, and the run's folder.
func newRedactor(req provider.BuildRequest) redactor {
	forms := map[string]bool{}
	add := func(s provider.Secret) {
		text := s.Reveal()
		if len(text) < 4 {
			return // it would be found in every other word
		}
		quoted, _ := json.Marshal(text)
		forms[text] = true
		forms[string(quoted[1:len(quoted)-1])] = true
		forms[url.QueryEscape(text)] = true
		forms[url.PathEscape(text)] = true
		forms[base64.StdEncoding.EncodeToString([]byte(text))] = true
		forms[base64.StdEncoding.EncodeToString([]byte(gitUser+":"+text))] = true
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); len(line) >= 16 {
				forms[line] = true
			}
		}
	}
	for name, value := range req.Credentials.Values {
		if !plainName(name) {
			add(value)
		}
	}
	add(req.State.Token)
	// The longest first, or a part of it would be replaced and the rest shown.
	sorted := slices.SortedFunc(maps.Keys(forms), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	var pairs []string
	for _, form := range sorted {
		pairs = append(pairs, form, "[redacted]")
	}
	if req.Folder != "" {
		pairs = append(pairs, layout(req.Folder).root+"/", "", req.Folder+"/", "")
	}
	return redactor{
		replace: strings.NewReplacer(pairs...),
		// Colours, and what differs each time for the same cause.
		noise: regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]|(?i),? ?\b(request ?id|x-amzn-requestid|trace id)[:=] ?[0-9A-Za-z-]+`),
	}
}

// plainName says that a value of credentials is where, not who: hiding a region's name would garble every message.
func plainName(name string) bool {
	for _, suffix := range []string{"REGION", "PROJECT", "ZONE", "ACCOUNT_ID"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

func (r redactor) clean(text string) string {
	return r.noise.ReplaceAllString(r.replace.Replace(text), "")
}

// log passes whole clean lines on. It is safe for use by several goroutines, as standard output and error are.
type log struct {
	mu   sync.Mutex
	to   io.Writer
	red  redactor
	rest []byte
}

// maxLine is from how many bytes on a line is passed on before it has ended.
const maxLine = 1 << 20

// Write never fails, or a reader that went away would stop an apply.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil {
		return len(p), nil
	}
	l.rest = append(l.rest, p...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 && len(l.rest) < maxLine {
			return len(p), nil
		}
		if end < 0 {
			end = len(l.rest) - 1
		}
		_, _ = io.WriteString(l.to, l.red.clean(string(l.rest[:end+1])))
		l.rest = append(l.rest[:0], l.rest[end+1:]...)
	}
}

// line writes one line.
func (l *log) line(text string) { _, _ = l.Write([]byte(strings.TrimRight(text, "\n") + "\n")) }

// flush writes what has no end of line yet.
func (l *log) flush() {
	l.mu.Lock()
	unfinished := len(l.rest) > 0
	l.mu.Unlock()
	if unfinished {
		l.line("")
	}
}
