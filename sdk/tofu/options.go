// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"io"
	"io/fs"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// Options are what a plugin knows about its template. They are the same in every call.
type Options struct {
	// Schema is the template's Variables: a JSON Schema of type object. Its properties are all the inputs there are.
	Schema json.RawMessage
	// Labels is the name of the input that takes the labels, a map of strings; empty: "labels".
	Labels string

	// Source is where the module is when the request names no source, in the words that [ParseSource] reads; {version} stands
	// for the template's version. Empty: Module.
	Source string
	// Module is the module built into the plugin, with its *.tf at the root.
	Module fs.FS
	// Allow are the sources that may be used, also by the module itself for the modules that it calls; nil: all that
	// [ParseSource] takes. A module is code that runs with the run's rights.
	Allow []Allowed

	// Binary is the path of OpenTofu; empty: tofu in PATH.
	Binary string
	// CLIConfig is more for OpenTofu's CLI configuration file, such as a provider_installation block.
	CLIConfig string
	// Env is more of OpenTofu's environment. Nothing of the plugin's own is passed on but PATH, the proxies and where the
	// certificates of authorities are.
	Env map[string]string
	// Log takes OpenTofu's output for people, in whole lines without secrets and colours; nil: nobody reads it.
	Log io.Writer
	// Resource says what a thing is outside; false: it is nothing outside, such as a random number. Nil: everything is a thing
	// whose kind is its type with hyphens, and its ID the attribute id.
	Resource func(Thing) (provider.Resource, bool)
	// ImportID is the ID by which OpenTofu imports a thing, where that is not its attribute id; nil: it always is. It must be the same
	// before and after the thing's attributes are known.
	ImportID func(Thing) string
	// Replace is why a thing of the state has to be made anew although the module does not say so, such as "because of region"; empty: it
	// has not. Nil: what the module says is all there is to it.
	Replace func(Thing) string
	// LocalState is the path of a file for the state, for an author's tests: then the request's State is not used. Empty: the
	// state is where the request says.
	LocalState string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Thing is one resource of OpenTofu's.
type Thing struct {
	// Address is its address in the module, such as module.vpc.aws_subnet.private[0], Type its type.
	Address, Type string
	// ID is the attribute id; empty where there is none.
	ID string
	// Attributes are those of its attributes that are not sensitive; nil while OpenTofu has only just made it.
	Attributes map[string]any
}

func (o Options) labels() string {
	if o.Labels == "" {
		return "labels"
	}
	return o.Labels
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}
