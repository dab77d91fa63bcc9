// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// made is something that an apply has just made.
type made struct {
	thing    Thing
	resource provider.Resource
}

// stream takes the JSON lines of tofu apply and reports each as soon as it is there: OpenTofu's own record of what it made is
// up to 20 seconds behind.
type stream struct {
	run    *run
	rest   []byte
	ids    map[string]string // of what is being changed, by address
	done   map[string]bool   // addresses whose change is done
	errors []string          // what the apply failed with, in words
}

// message is a line of OpenTofu's stream, as far as we read it.
type message struct {
	Message string    `json:"@message"`
	Time    time.Time `json:"@timestamp"`
	Type    string    `json:"type"`
	Hook    struct {
		Resource struct {
			Address string `json:"addr"`
			Type    string `json:"resource_type"`
		} `json:"resource"`
		Action  string  `json:"action"`
		IDKey   string  `json:"id_key"`
		ID      string  `json:"id_value"`
		Elapsed float64 `json:"elapsed_seconds"`
	} `json:"hook"`
	Diagnostic struct {
		Severity string `json:"severity"`
		Summary  string `json:"summary"`
		Detail   string `json:"detail"`
		Address  string `json:"address"`
	} `json:"diagnostic"`
}

// Write never fails: OpenTofu must not stop because of what we think of a line.
func (s *stream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, rest, whole := bytes.Cut(s.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		s.line(line)
		s.rest = bytes.Clone(rest)
	}
}

func (s *stream) flush() {
	if len(s.rest) > 0 {
		s.line(s.rest)
	}
	s.rest = nil
}

func (s *stream) line(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		s.run.log.line(string(line))
		return
	}
	if m.Type == "diagnostic" {
		s.diagnostic(m)
		return
	}
	s.run.log.line(m.Message)
	if kind := eventKind(m.Type); kind != "" {
		s.change(kind, m)
	}
}

// diagnostic is an error or a warning.
func (s *stream) diagnostic(m message) {
	d := m.Diagnostic
	text := d.Summary
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	if d.Address != "" {
		text = d.Address + ": " + text
	}
	s.run.log.line(strings.ToUpper(d.Severity) + ": " + text)
	text = strings.TrimSpace(s.run.red.clean(text))
	if d.Severity == "error" {
		s.errors = append(s.errors, text)
		return
	}
	s.run.report(provider.Event{Kind: provider.EventWarning, Time: m.Time, Address: d.Address, Message: cut(text, maxTail)})
}

// eventKind is what a line of the stream is to us; empty: nothing.
func eventKind(lineType string) provider.EventKind {
	switch lineType {
	case "apply_start":
		return provider.EventStarted
	case "apply_complete":
		return provider.EventDone
	case "apply_errored":
		return provider.EventFailed
	}
	return ""
}

func (s *stream) change(kind provider.EventKind, m message) {
	thing := Thing{Address: m.Hook.Resource.Address, Type: m.Hook.Resource.Type, ID: m.Hook.ID}
	// The end of a deletion comes without the ID of what is gone.
	if thing.ID == "" {
		thing.ID = s.ids[thing.Address]
	}
	s.ids[thing.Address] = thing.ID
	event := provider.Event{
		Kind: kind, Time: m.Time, Address: thing.Address, Operation: operationOf(m.Hook.Action), Message: m.Message,
		Elapsed: time.Duration(m.Hook.Elapsed * float64(time.Second)),
	}
	if resource, outside := s.run.resource(thing); outside && thing.ID != "" {
		event.Resource = &resource
	}
	if kind == provider.EventDone {
		delete(s.ids, thing.Address)
		s.done[thing.Address] = true
		s.keep(event, thing)
	}
	s.run.report(event)
}

// keep writes down what is made, and strikes out what is gone.
func (s *stream) keep(e provider.Event, t Thing) {
	switch {
	case e.Resource == nil:
	case e.Operation == provider.OperationCreate:
		s.run.made = append(s.run.made, made{thing: t, resource: *e.Resource})
	case e.Operation == provider.OperationDelete:
		s.run.made = slices.DeleteFunc(s.run.made, func(m made) bool { return s.run.o.keyOf(m.thing) == s.run.o.keyOf(t) })
	}
}

// finished are those of the changes that were done.
func (s *stream) finished(changes []provider.Change) []provider.Change {
	var done []provider.Change
	for _, change := range changes {
		if s.done[change.Address] {
			done = append(done, change)
		}
	}
	return done
}

func operationOf(action string) provider.Operation {
	switch action {
	case "create":
		return provider.OperationCreate
	case "read":
		return provider.OperationRead
	case "update":
		return provider.OperationUpdate
	case "delete":
		return provider.OperationDelete
	case "replace":
		return provider.OperationReplace
	}
	return ""
}
