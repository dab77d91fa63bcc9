// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

func TestFactsCheck(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change func(*provider.Facts)
		field  string
	}{
		"whole":        {reason: "these facts are as they should be", change: func(*provider.Facts) {}},
		"no templates": {reason: "a provider may build nothing", change: func(f *provider.Facts) { f.Templates = nil }},
		"no name":      {reason: "clusters name the provider", change: func(f *provider.Facts) { f.Name = "" }, field: "name"},
		"name":         {reason: "the name stands in labels", change: func(f *provider.Facts) { f.Name = "Toy Cloud" }, field: "name"},
		"no version":   {reason: "people see which one runs", change: func(f *provider.Facts) { f.Version = "" }, field: "version"},
		"another's template": {
			reason: "a template picks the plugin by its first half",
			change: func(f *provider.Facts) { f.Templates[0].Name = "aws/cluster" }, field: "templates[0].name",
		},
		"half a template's name": {
			reason: "the second half is the module",
			change: func(f *provider.Facts) { f.Templates[0].Name = "toy" }, field: "templates[0].name",
		},
		"schema is no JSON": {
			reason: "variables are checked against it",
			change: func(f *provider.Facts) { f.Templates[0].Variables = json.RawMessage("{") }, field: "templates[0].variables",
		},
		"schema of a list": {
			reason: "variables have names",
			change: func(f *provider.Facts) { f.Templates[0].Variables = json.RawMessage(`{"type":"array"}`) }, field: "templates[0].variables",
		},
		"price without a day": {
			reason: "a price is of a day",
			change: func(f *provider.Facts) { f.Templates[0].Prices[0].AsOf = time.Time{} }, field: "templates[0].prices[0]",
		},
		"price without a source": {
			reason: "a price can be looked up",
			change: func(f *provider.Facts) { f.Templates[0].Prices[0].Source = "" }, field: "templates[0].prices[0]",
		},
		"rule": {
			reason: "the host compiles it",
			change: func(f *provider.Facts) { f.Names[0].Pattern = "(" }, field: "names[0].pattern",
		},
		"kind": {
			reason: "kinds stand in records and messages",
			change: func(f *provider.Facts) { f.Kinds[0].Name = "Load Balancer" }, field: "kinds[0].name",
		},
		"longest of all": {reason: "these are the limits", change: func(f *provider.Facts) {
			f.Version, f.NodePrefixes = strings.Repeat("ä", 64), []string{"toy://", "toy+a.b-c://" + strings.Repeat("x", 116)}
			f.Templates[0].Title = strings.Repeat("ä", 128)
			f.Templates[0].Variables = schema(256 << 10)
			f.Templates, f.Kinds = slices.Repeat(f.Templates, 100), slices.Repeat(f.Kinds, 500)
		}},
		"long name":    {reason: "the name stands in labels", change: func(f *provider.Facts) { f.Name = strings.Repeat("a", 1<<20) }, field: "name"},
		"long version": {reason: "it stands in the status", change: func(f *provider.Facts) { f.Version = strings.Repeat("v", 65) }, field: "version"},
		"red version":  {reason: "it is shown on terminals", change: func(f *provider.Facts) { f.Version = "v1\x1b[31m" }, field: "version"},
		"long title": {
			reason: "it stands in the status",
			change: func(f *provider.Facts) { f.Templates[0].Title = strings.Repeat("a", 129) }, field: "templates[0].title",
		},
		"title of lines": {
			reason: "it is a line in a list",
			change: func(f *provider.Facts) { f.Templates[0].Title = "a\nb" }, field: "templates[0].title",
		},
		"title that is no UTF-8": {
			reason: "it can't be stored",
			change: func(f *provider.Facts) { f.Templates[0].Title = "a\xff" }, field: "templates[0].title",
		},
		"many templates": {
			reason: "they stand in the status",
			change: func(f *provider.Facts) { f.Templates = slices.Repeat(f.Templates, 101) }, field: "templates",
		},
		"many kinds": {reason: "they are kept", change: func(f *provider.Facts) { f.Kinds = slices.Repeat(f.Kinds, 501) }, field: "kinds"},
		"many prices": {
			reason: "they are kept",
			change: func(f *provider.Facts) { f.Templates[0].Prices = slices.Repeat(f.Templates[0].Prices, 101) }, field: "templates[0].prices",
		},
		"many prefixes": {
			reason: "they stand in the status",
			change: func(f *provider.Facts) { f.NodePrefixes = slices.Repeat([]string{"toy://"}, 101) }, field: "nodePrefixes",
		},
		"huge schema": {
			reason: "it is kept",
			change: func(f *provider.Facts) { f.Templates[0].Variables = schema(256<<10 + 1) }, field: "templates[0].variables",
		},
		"guards": {reason: "types and addresses both name things", change: func(f *provider.Facts) {
			f.Templates[0].Guarded = []string{"toy_cluster", "module.nodes.toy_node.this"}
		}},
		"guards an instance": {
			reason: "all instances of one resource are guarded alike",
			change: func(f *provider.Facts) { f.Templates[0].Guarded = []string{"toy_cluster", `toy_node.a["x"]`} }, field: "templates[0].guarded[1]",
		},
		"guards nothing": {
			reason: "it would look like a guard",
			change: func(f *provider.Facts) { f.Templates[0].Guarded = []string{""} }, field: "templates[0].guarded[0]",
		},
		"many guards": {
			reason: "they are kept",
			change: func(f *provider.Facts) { f.Templates[0].Guarded = slices.Repeat([]string{"toy_node"}, 101) }, field: "templates[0].guarded",
		},
		"kind's title": {
			reason: "people see it",
			change: func(f *provider.Facts) { f.Kinds[0].Title = strings.Repeat("a", 129) }, field: "kinds[0].title",
		},
		"rule's reason": {
			reason: "people see it",
			change: func(f *provider.Facts) { f.Names[0].Why = strings.Repeat("a", 1025) }, field: "names[0].why",
		},
		"price's item": {
			reason: "people see it",
			change: func(f *provider.Facts) { f.Templates[0].Prices[0].Item = "a\tb" }, field: "templates[0].prices[0].item",
		},
		"credential": {reason: "people see it", change: func(f *provider.Facts) { f.Credentials = []string{"A", "B\n"} }, field: "credentials[1]"},
		"empty prefix": {
			reason: "all nodes' begin like that",
			change: func(f *provider.Facts) { f.NodePrefixes = []string{"toy://", ""} }, field: "nodePrefixes[1]",
		},
		"prefix without a scheme": {
			reason: "it may be many clouds'",
			change: func(f *provider.Facts) { f.NodePrefixes = []string{"a"} }, field: "nodePrefixes[0]",
		},
		"prefix in capitals": {
			reason: "no scheme is written so",
			change: func(f *provider.Facts) { f.NodePrefixes = []string{"AWS://"} }, field: "nodePrefixes[0]",
		},
		"prefix of lines": {
			reason: "no node has it",
			change: func(f *provider.Facts) { f.NodePrefixes = []string{"aws://\n"} }, field: "nodePrefixes[0]",
		},
		"long prefix": {
			reason: "it stands in the status",
			change: func(f *provider.Facts) { f.NodePrefixes = []string{"aws://" + strings.Repeat("a", 123)} }, field: "nodePrefixes[0]",
		},
	} {
		facts := provider.Facts{
			Name: "toy", Version: "v0.1.0", Names: []provider.NameRule{{What: "network", MaxLength: 30}},
			Kinds: []provider.Kind{{Name: "load-balancer", Title: "Load balancer"}},
			Templates: []provider.Template{{
				Name: "toy/cluster", Variables: json.RawMessage(`{"type":"object"}`),
				Prices: []provider.Price{{Item: "node", AsOf: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Source: "https://prices.example.com"}},
			}},
		}
		c.change(&facts)
		err := facts.Check()
		var e *provider.Error
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%s: %v: %s", name, err, c.reason)
		case c.field != "" && (!errors.As(err, &e) || e.Kind != provider.Invalid || e.Field != c.field):
			t.Errorf("%s: %v, want Invalid with the field %s: %s", name, err, c.field, c.reason)
		case err != nil && len(err.Error()) > 500:
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
}

// schema is one of that many bytes.
func schema(size int) json.RawMessage {
	const frame = `{"type":"object","title":""}`
	return json.RawMessage(frame[:len(frame)-2] + strings.Repeat("x", size-len(frame)) + frame[len(frame)-2:])
}
