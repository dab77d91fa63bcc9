// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"darkshift.io/infrared/internal/devstack/proc"
)

// ErrNotRunning says that there is no stack to look at.
var ErrNotRunning = errors.New("the stack is not running: start it with ir dev up")

// Describe is one line on a component that isn't ready: which, why, and where
// its log is.
func (c Component) Describe() string {
	name := c.Cluster + "/" + c.Name
	if c.Phase == Dead && c.Exit != nil {
		return proc.Describe(name, *c.Exit, c.Reason, shorten(c.Log))
	}
	text := fmt.Sprintf("%s is %s", name, c.Phase)
	if c.Reason != "" {
		text = name + ": " + c.Reason
	}
	if c.Log != "" && !strings.Contains(c.Reason, "(log: ") {
		text += fmt.Sprintf(" (log: %s)", shorten(c.Log))
	}
	return text
}

// Status gives the state of the stack as it is now. Where the supervisor was
// killed, Supervisor is 0 and every component is Dead: its children die with
// it. ErrNotRunning when nothing was started.
func (s *Stack) Status() (State, error) {
	st, err := s.readState()
	if errors.Is(err, os.ErrNotExist) {
		return State{}, ErrNotRunning
	}
	if err != nil {
		return State{}, err
	}
	if _, running, err := s.supervisor(); err != nil || running {
		return st, err
	}
	st.Supervisor, st.Settled = 0, true
	for i := range st.Components {
		c := &st.Components[i]
		c.Phase, c.Pid = Dead, 0
		c.Reason = "the supervisor was killed, and this with it"
	}
	return st, nil
}

// errSupervisorKilled stands for all components, whose one cause it is.
var errSupervisorKilled = errors.New("the supervisor was killed, and everything with it: start it again with ir dev up")

// PrintStatus writes the state as a table, or as JSON. The error is one line
// on what needs a person.
func PrintStatus(out io.Writer, st State, asJSON bool) error {
	if asJSON {
		data, err := json.MarshalIndent(st, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the state: %w", err)
		}
		fmt.Fprintf(out, "%s\n", data)
		return statusError(st)
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "CLUSTER\tCOMPONENT\tPID\tSTATE\tADDRESS\tLOG")
	for _, c := range st.Components {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Cluster, c.Name, number(c.Pid), c.Phase, dash(c.Address), dash(shorten(c.Log)))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the state: %w", err)
	}
	return statusError(st)
}

func statusError(st State) error {
	if st.Supervisor == 0 {
		return errSupervisorKilled
	}
	return badError(st)
}

func number(pid int) string {
	if pid == 0 {
		return "-"
	}
	return fmt.Sprint(pid)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shorten gives a path relative to the working folder, where that is shorter.
func shorten(path string) string {
	wd, err := os.Getwd()
	if err != nil || path == "" {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || len(rel) > len(path) {
		return path
	}
	return rel
}
