// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"darkshift.io/infrared/sdk/provider"
)

// Lines reads variables as people type them, one name=value a line. Blanks around the name, the sign and the value do not
// count; empty lines and those that begin with # are passed over.
func Lines(text string) (map[string]string, error) {
	values := map[string]string{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		_, twice := values[name]
		switch {
		case !found || name == "":
			return nil, provider.Invalidf("variables", "line %d is no name=value", i+1)
		case twice:
			return nil, provider.Invalidf("variables."+name, "is there twice")
		}
		values[name] = strings.TrimSpace(value)
	}
	return values, nil
}

// Variables makes JSON of variables that are text, and checks them against the template's schema. A text that begins with [ or {
// is JSON; any other is of the type that the schema gives the variable, and a text byte for byte where that is string. Errors are
// Invalid and name the variable.
func Variables(schema json.RawMessage, texts map[string]string) (map[string]json.RawMessage, error) {
	s, err := readSchema(schema)
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if err := s.known(name); err != nil {
			return nil, err
		}
		if values[name], err = s.fromText(name, texts[name]); err != nil {
			return nil, err
		}
	}
	return values, s.check(values)
}

// fromText is the value that a text stands for.
func (s *schema) fromText(name, text string) (json.RawMessage, error) {
	field := "variables." + name
	if !utf8.ValidString(text) {
		return nil, provider.Invalidf(field, "is not UTF-8")
	}
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{") {
		if !json.Valid([]byte(trimmed)) {
			return nil, provider.Invalidf(field, "begins as JSON and is none: write lists as [\"a\",\"b\"] and objects as {\"k\":\"v\"}")
		}
		return json.RawMessage(trimmed), nil
	}
	types := s.types(name)
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, fmt.Errorf("quoting variable %q: %w", name, err)
	}
	isNumber := trimmed != "" && strings.Trim(trimmed[:1], "-0123456789") == "" && json.Valid([]byte(trimmed))
	switch {
	case len(types) == 0, slices.Contains(types, "string"):
		return quoted, nil
	case slices.Contains(types, "boolean") && (trimmed == "true" || trimmed == "false"):
		return json.RawMessage(trimmed), nil
	case (slices.Contains(types, "number") || slices.Contains(types, "integer")) && isNumber:
		return json.RawMessage(trimmed), nil
	}
	return nil, provider.Invalidf(field, "must be %s", wanted(types))
}

// wanted names types in a sentence.
func wanted(types []string) string {
	words := map[string]string{
		"boolean": "true or false", "number": "a number", "integer": "a whole number", "string": "text", "null": "null",
		"array": "a list in JSON, such as [\"a\",\"b\"]", "object": "an object in JSON, such as {\"k\":\"v\"}",
	}
	var parts []string
	for _, t := range types {
		parts = append(parts, words[t])
	}
	return strings.Join(parts, " or ")
}

// complete makes the variables of a run: those of the request, the name, the labels; all checked.
func (o Options) complete(req provider.BuildRequest) (map[string]json.RawMessage, error) {
	s, err := readSchema(o.Schema)
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(req.Variables)) {
		if err := s.known(name); err != nil {
			return nil, err
		}
		value := bytes.TrimSpace(req.Variables[name])
		// A host that keeps variables as text may hand them on as such.
		var text string
		if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil && s.takesNoText(name) {
			if value, err = s.fromText(name, text); err != nil {
				return nil, err
			}
		}
		if !json.Valid(value) || !utf8.Valid(value) {
			return nil, provider.Invalidf("variables."+name, "is no JSON")
		}
		values[name] = value
	}
	if _, given := values["name"]; !given && s.has("name") {
		values["name"], _ = json.Marshal(req.Cluster.Name)
	}
	if err := o.addLabels(s, values, req.Labels); err != nil {
		return nil, err
	}
	return values, s.check(values)
}

// addLabels puts ours beside those of the request. A template that takes none would make things that nobody finds again.
func (o Options) addLabels(s *schema, values map[string]json.RawMessage, ours map[string]string) error {
	name := o.labels()
	if len(ours) == 0 {
		return nil
	}
	if !s.has(name) {
		return provider.Errorf(provider.Other, "the template has no variable %q for the labels of what it makes: the plugin must declare it", name)
	}
	labels := map[string]string{}
	if given, found := values[name]; found {
		if err := json.Unmarshal(given, &labels); err != nil {
			return provider.Invalidf("variables."+name, "must be an object of texts, such as {\"team\":\"edge\"}")
		}
		if labels == nil {
			labels = map[string]string{}
		}
	}
	for key, value := range ours {
		if theirs, found := labels[key]; found && theirs != value {
			return provider.Invalidf("variables."+name, "sets %s, which Infrared sets: leave it out", key)
		}
		labels[key] = value
	}
	merged, err := json.Marshal(labels)
	if err != nil {
		return fmt.Errorf("writing the labels: %w", err)
	}
	values[name] = merged
	return nil
}
