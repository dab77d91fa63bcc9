// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-exec/tfexec"

	"darkshift.io/infrared/sdk/provider"
)

// madeAs is the Why of a resource: for people, and for the import of a later run.
func madeAs(t Thing, importID string) string {
	return fmt.Sprintf("OpenTofu made it as %q with the ID %q of type %q", t.Address, importID, t.Type)
}

// madeThing reads madeAs back.
func madeThing(why string) (Thing, bool) {
	m := regexp.MustCompile(`^OpenTofu made it as ("(?:[^"\\]|\\.)*") with the ID ("(?:[^"\\]|\\.)*") of type ("(?:[^"\\]|\\.)*")`).FindStringSubmatch(why)
	if m == nil {
		return Thing{}, false
	}
	var parts [3]string
	for i := range parts {
		var err error
		if parts[i], err = strconv.Unquote(m[i+1]); err != nil {
			return Thing{}, false
		}
	}
	return Thing{Address: parts[0], ID: parts[1], Type: parts[2]}, true
}

// key tells things of one type apart.
type key struct{ kind, id string }

// keyOf is the same for a thing that was made and for the same one after an import.
func (o Options) keyOf(t Thing) key { return key{t.Type, o.importID(t)} }

func (o Options) importID(t Thing) string {
	if o.ImportID == nil || t.ID == "" {
		return t.ID
	}
	return o.ImportID(t)
}

// adopt imports what the ledger has and the state lacks, and returns the state after that and what could not be imported.
func (r *run) adopt(ctx context.Context, s state) (state, []provider.Resource, error) {
	known, taken := map[key]bool{}, map[string]bool{}
	ids := map[string]bool{}
	for _, thing := range s.things() {
		known[r.o.keyOf(thing)], taken[thing.Address] = true, true
		if resource, ok := r.resource(thing); ok {
			ids[resource.ID] = true
		}
	}
	var left []provider.Resource
	imported := false
	// The newest first: where a thing was made twice, that one is at the address.
	for _, resource := range slices.Backward(r.req.Ledger) {
		thing, ok := madeThing(resource.Why)
		// What was written down of a thing has the ID for its import already.
		recorded := key{thing.Type, thing.ID}
		if !ok && ids[resource.ID] || ok && known[recorded] {
			continue
		}
		known[recorded] = known[recorded] || ok
		why := ""
		switch {
		case !ok || thing.ID == "":
			why = "nothing tells its address in the template"
		case taken[thing.Address]:
			why = "another one has its place in the state"
		default:
			err := r.importThing(ctx, thing)
			if kind := provider.KindOf(err); kind != "" && kind != provider.Other && kind != provider.Invalid {
				return s, nil, err
			} else if err != nil {
				why = "it could not be imported: " + lastLine(err)
			} else {
				taken[thing.Address], imported = true, true
				r.say(provider.EventMessage, fmt.Sprintf("imported %s, which an earlier run made (ID %s)", thing.Address, thing.ID))
				continue
			}
		}
		resource.Why += "; " + why
		left = append(left, resource)
		r.say(provider.EventWarning, fmt.Sprintf("left behind by an earlier run: %s %s (%s)", resource.Kind, resource.ID, why))
	}
	if !imported {
		return s, left, nil
	}
	s, err := r.pull(ctx, r.dir)
	return s, left, err
}

func (r *run) importThing(ctx context.Context, t Thing) error {
	return r.command(ctx, call{
		step: "importing " + t.Address, dir: r.dir, data: r.folder.data, show: true,
		do: func(ctx context.Context, tf *tfexec.Terraform) error {
			return tf.Import(ctx, t.Address, t.ID, tfexec.VarFile(r.folder.variables))
		},
	})
}

// lastLine is the short form of an error, for a list.
func lastLine(err error) string {
	var typed *provider.Error
	text := err.Error()
	if errors.As(err, &typed) {
		text = typed.Message
	}
	return cut(regexp.MustCompile(`\s+`).ReplaceAllString(text, " "), 300)
}

// lost are the things that this run made and that are not in the state after it: OpenTofu was killed before it wrote it.
func (r *run) lost(s state) []provider.Resource {
	known := map[key]bool{}
	for _, thing := range s.things() {
		known[r.o.keyOf(thing)] = true
	}
	var lost []provider.Resource
	for _, made := range r.made {
		if known[r.o.keyOf(made.thing)] {
			continue
		}
		resource := made.resource
		resource.Why += "; the state lacks it, and the next run imports it"
		lost = append(lost, resource)
	}
	return lost
}
