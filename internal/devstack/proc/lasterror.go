// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
)

const (
	tailBytes = 256 << 10 // a crash of the API server prints thousands of stack lines after the reason
	lineRunes = 300
)

// klogHead is a letter for the level, month and day, time, process, file:line].
var klogHead = regexp.MustCompile(`^([IWEF])\d{4} [\d:.]+ +\d+ [^\]]+\] `)

// LastError picks the line of a log that says why its process ended: the last
// that is marked as an error, a panic or a fatal one, else the last that says
// anything. Time, file and process number at its head are taken off, so that
// the same failure reads the same. "" for a log that is empty or can't be read.
func LastError(path string) string {
	lines := tail(path)
	last := ""
	for i := len(lines) - 1; i >= 0; i-- {
		text, marked := judge(lines[i])
		if text == "" {
			continue
		}
		if marked {
			return shorten(text)
		}
		if last == "" {
			last = text
		}
	}
	return shorten(last)
}

// judge takes a line's head off and says whether the line is marked as an error.
func judge(line string) (text string, marked bool) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "{") {
		if text, marked, ok := judgeJSON(line); ok {
			return text, marked
		}
	}
	if m := klogHead.FindStringSubmatch(line); m != nil {
		return line[len(m[0]):], m[1] == "E" || m[1] == "F"
	}
	for _, mark := range []string{"panic: ", "fatal error: ", "Error: "} {
		if strings.HasPrefix(line, mark) {
			return line, true
		}
	}
	return line, false
}

// judgeJSON reads a line of a structured log: etcd's and our operator's.
func judgeJSON(line string) (text string, marked, ok bool) {
	var entry struct {
		Level string `json:"level"`
		Msg   string `json:"msg"`
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg == "" {
		return "", false, false
	}
	text = entry.Msg
	if entry.Error != "" {
		text += ": " + entry.Error
	}
	switch strings.ToLower(entry.Level) {
	case "error", "dpanic", "panic", "fatal":
		return text, true, true
	}
	return text, false, true
}

func shorten(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > lineRunes {
		return string(r[:lineRunes]) + "…"
	}
	return s
}

// tail is the end of a file, in lines.
func tail(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return nil
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return nil
	}
	return strings.Split(string(data), "\n")
}
