// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"encoding/json"
	"errors"
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
		}
	}
}
