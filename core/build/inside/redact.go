// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"darkshift.io/infrared/sdk/provider"
)

// redactor takes the run's secrets out of whatever leaves it, in every form in which programs print them. OpenTofu's own output has
// been through the like of it in the plugin; this one is for plugins of every make.
type redactor struct{ replace *strings.Replacer }

func newRedactor(c provider.Credentials, more ...string) redactor {
	forms := map[string]bool{}
	for name, value := range c.Values {
		// Where, not who: hiding a region's name would garble every message.
		if !hasSuffix(name, "REGION", "PROJECT", "ZONE", "ACCOUNT_ID", "ENDPOINT") {
			addForms(forms, value.Reveal())
		}
	}
	for _, text := range more {
		addForms(forms, text)
	}
	// The longest first, or a part of one would be replaced and the rest shown.
	sorted := slices.SortedFunc(maps.Keys(forms), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	var pairs []string
	for _, form := range sorted {
		pairs = append(pairs, form, "[redacted]")
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func hasSuffix(name string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

func addForms(forms map[string]bool, text string) {
	const (
		shortest     = 4  // a shorter one would be found in every other word
		shortestLine = 16 // of a text with several lines, such as a key
	)
	if len(text) < shortest {
		return
	}
	quoted, _ := json.Marshal(text)
	for _, form := range []string{
		text, string(quoted[1 : len(quoted)-1]), url.QueryEscape(text), url.PathEscape(text), base64.StdEncoding.EncodeToString([]byte(text)),
	} {
		forms[form] = true
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= shortestLine {
			forms[line] = true
		}
	}
}

func (r redactor) text(text string) string { return r.replace.Replace(text) }

// value cleans the texts in a JSON value, names included. One without secrets stays as it is, byte for byte.
func (r redactor) value(raw json.RawMessage) json.RawMessage {
	if r.text(string(raw)) == string(raw) {
		return raw
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return json.RawMessage(`"[redacted]"`)
	}
	clean, err := json.Marshal(r.any(value))
	if err != nil {
		return json.RawMessage(`"[redacted]"`)
	}
	return clean
}

func (r redactor) any(value any) any {
	switch value := value.(type) {
	case string:
		return r.text(value)
	case []any:
		for i := range value {
			value[i] = r.any(value[i])
		}
		return value
	case map[string]any:
		clean := map[string]any{}
		for name, part := range value {
			clean[r.text(name)] = r.any(part)
		}
		return clean
	}
	return value
}

func (r redactor) resources(all []provider.Resource) []provider.Resource {
	for i := range all {
		all[i] = r.resource(all[i])
	}
	return all
}

func (r redactor) resource(one provider.Resource) provider.Resource {
	one.ID, one.Name, one.Why, one.ConsoleURL = r.text(one.ID), r.text(one.Name), r.text(one.Why), r.text(one.ConsoleURL)
	return one
}

// result cleans what a build answered. The plan stays: it is kept where only runs read it.
func (r redactor) result(b provider.BuildResult) provider.BuildResult {
	for i, c := range b.Changes {
		b.Changes[i].Address, b.Changes[i].Why = r.text(c.Address), r.text(c.Why)
	}
	outputs := map[string]json.RawMessage{}
	for name, value := range b.Outputs {
		outputs[r.text(name)] = r.value(value)
	}
	b.Outputs = outputs
	b.Resources, b.LeftBehind = r.resources(b.Resources), r.resources(b.LeftBehind)
	return b
}
