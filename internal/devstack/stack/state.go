// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

// format is the version of state.json and wanted.json. A supervisor and a command
// of different formats don't understand each other.
const format = 1

// Phase says how a component is doing.
type Phase string

// The phases of a component.
const (
	Waiting  Phase = "Waiting"  // not started yet: something before it isn't ready
	Starting Phase = "Starting" // runs, not ready yet
	Ready    Phase = "Ready"    // runs and answered that it is ready
	NotReady Phase = "NotReady" // runs, but what it depends on is dead or never became ready
	Dead     Phase = "Dead"     // its process ended
	Failed   Phase = "Failed"   // could not be done or started at all
)

// bad says whether a component needs a person.
func (p Phase) bad() bool { return p == Dead || p == Failed || p == NotReady }

// Component is one row of the status: a process, or a thing to be done once,
// which then has no pid.
type Component struct {
	Cluster  string     `json:"cluster"`
	Name     string     `json:"name"`
	Phase    Phase      `json:"phase"`
	Pid      int        `json:"pid,omitempty"`
	Ticks    uint64     `json:"startTicks,omitempty"` // when the pid began to be this one's, in clock ticks since boot
	Address  string     `json:"address,omitempty"`    // where it serves
	Log      string     `json:"log,omitempty"`        // file with its output
	Started  time.Time  `json:"started,omitzero"`
	ReadyAt  time.Time  `json:"readyAt,omitzero"`
	Restarts int        `json:"restarts,omitempty"` // how often it was started again by itself
	Exit     *proc.Exit `json:"exit,omitempty"`     // how it ended, of a dead one
	Reason   string     `json:"reason,omitempty"`   // one line: why it isn't ready
}

// State is what a supervisor knows, as in state.json.
type State struct {
	Format     int         `json:"format"`
	Supervisor int         `json:"supervisor"` // its pid; 0 when it was killed
	Generation int64       `json:"generation"` // of the wanted set that was acted upon last
	Settled    bool        `json:"settled"`    // all was tried that this generation asks for
	Components []Component `json:"components"` // management first, then by name; each in the order of starting
}

// Healthy says whether everything wanted is up.
func (s State) Healthy() bool {
	for _, c := range s.Components {
		if c.Phase != Ready {
			return false
		}
	}
	return s.Settled
}

// Bad lists the components that need a person.
func (s State) Bad() []Component {
	var bad []Component
	for _, c := range s.Components {
		if c.Phase.bad() {
			bad = append(bad, c)
		}
	}
	return bad
}

// Wanted is what should run, as in wanted.json.
type Wanted struct {
	Format     int      `json:"format"`
	Generation int64    `json:"generation"` // raised by each Up that wants something done
	Clusters   []string `json:"clusters"`   // besides management, sorted
	Operator   bool     `json:"operator"`
	Node       string   `json:"node,omitempty"`     // the kind of node
	NewPorts   bool     `json:"newPorts,omitempty"` // give up the addresses there were
}

func (s *Stack) readState() (State, error) {
	var st State
	err := readJSON(s.stateFile(), &st)
	if err == nil && st.Format != format {
		err = fmt.Errorf("the stack was started by another version of ir: run ir dev down with that version, or end process %d, then ir dev up", st.Supervisor)
	}
	return st, err
}

// readWanted gives the zero Wanted when nothing was ever wanted.
func (s *Stack) readWanted() (Wanted, error) {
	var w Wanted
	err := readJSON(s.wantedFile(), &w)
	if errors.Is(err, os.ErrNotExist) {
		return Wanted{Format: format}, nil
	}
	if err == nil && w.Format != format {
		err = fmt.Errorf("the file %s is of another version of ir: run ir dev down --purge", s.wantedFile())
	}
	return w, err
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the stack's files: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the file %s is damaged: run ir dev down, remove the file, then ir dev up", path)
	}
	return nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return folder.WriteFile(path, append(data, '\n'))
}
