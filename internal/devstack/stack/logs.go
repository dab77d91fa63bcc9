// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// supervisorName is what people call the supervisor's log.
const supervisorName = "supervisor"

// LogOptions says which logs to print and how much of them.
type LogOptions struct {
	Component string // cluster/component, component, cluster, supervisor; "" for all
	Lines     int    // of the end of each log
	Follow    bool   // go on until ctx ends
	Out       io.Writer
}

// Logs prints logs of the stack, running or not. Where there are several, each
// line begins with the log's name.
func (s *Stack) Logs(ctx context.Context, o LogOptions) error {
	logs, err := s.findLogs(o.Component)
	if err != nil {
		return err
	}
	for i := range logs {
		if len(logs) > 1 {
			logs[i].prefix = "[" + logs[i].name + "] "
		}
		if err := logs[i].printTail(o.Out, o.Lines); err != nil {
			return err
		}
	}
	if !o.Follow {
		return nil
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for i := range logs {
			if err := logs[i].printNew(o.Out); err != nil {
				return err
			}
		}
	}
}

// logFile is one log and how far it was printed.
type logFile struct {
	name   string // cluster/component
	path   string
	prefix string
	offset int64
}

// findLogs finds the logs that a person means.
func (s *Stack) findLogs(component string) ([]logFile, error) {
	paths, err := filepath.Glob(s.path("*/logs/*.log"))
	if err != nil {
		return nil, err
	}
	all := []logFile{{name: supervisorName, path: s.supervisorLog()}}
	for _, p := range paths {
		cluster := filepath.Base(filepath.Dir(filepath.Dir(p)))
		all = append(all, logFile{name: cluster + "/" + strings.TrimSuffix(filepath.Base(p), ".log"), path: p})
	}
	var names []string
	all = slices.DeleteFunc(all, func(l logFile) bool {
		names = append(names, l.name)
		cluster, base, _ := strings.Cut(l.name, "/")
		return component != "" && component != l.name && component != base && component != cluster
	})
	if len(all) == 0 {
		return nil, fmt.Errorf("no log is called %q: choose of %s", component, strings.Join(names, ", "))
	}
	return all, nil
}

// printTail prints the last lines.
func (l *logFile) printTail(out io.Writer, lines int) error {
	data, err := os.ReadFile(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	l.offset = int64(len(data))
	all := bytes.SplitAfter(data, []byte("\n"))
	if n := len(all); n > 0 && len(all[n-1]) == 0 {
		all = all[:n-1]
	}
	if lines >= 0 && len(all) > lines {
		all = all[len(all)-lines:]
	}
	for _, line := range all {
		l.print(out, line)
	}
	return nil
}

// printNew prints the whole lines that were added since. A log that is shorter
// than it was has been begun anew.
func (l *logFile) printNew(out io.Writer) error {
	f, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < l.offset {
		l.offset = 0
	}
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil // the rest of the line comes later
		}
		l.offset += int64(len(line))
		l.print(out, line)
	}
}

func (l *logFile) print(out io.Writer, line []byte) {
	fmt.Fprintf(out, "%s%s\n", l.prefix, bytes.TrimRight(line, "\n"))
}
