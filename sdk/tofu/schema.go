// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"darkshift.io/infrared/sdk/provider"
)

// schema is a template's inputs.
type schema struct {
	whole *jsonschema.Schema
}

// noLoader keeps a schema from reading files and addresses.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("the schema refers to another document, and must be whole in itself")
}

func readSchema(text json.RawMessage) (*schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the template's schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource("variables", document); err != nil {
		return nil, fmt.Errorf("reading the template's schema: %w", err)
	}
	whole, err := compiler.Compile("variables")
	if err != nil {
		return nil, fmt.Errorf("reading the template's schema: %w", err)
	}
	return &schema{whole: whole}, nil
}

func (s *schema) has(name string) bool { return s.whole.Properties[name] != nil }

// known refuses a name that the template does not have.
func (s *schema) known(name string) error {
	if s.has(name) {
		return nil
	}
	names := slices.Sorted(maps.Keys(s.whole.Properties))
	return unknownInput(name, names)
}

// unknownInput is the error for an input that is none of names.
func unknownInput(name string, names []string) error {
	if near := nearest(name, names); near != "" {
		return provider.Invalidf("variables."+name, "is no input of the template: did you mean %s?", near)
	}
	return provider.Invalidf("variables."+name, "is no input of the template, which has %s", strings.Join(names, ", "))
}

// types are those that a variable may be of; none: any.
func (s *schema) types(name string) []string {
	for p := s.whole.Properties[name]; p != nil; p = p.Ref {
		if p.Types != nil {
			types := p.Types.ToStrings()
			slices.Sort(types)
			return types
		}
	}
	return nil
}

// takesNoText says that a text can't be what is meant.
func (s *schema) takesNoText(name string) bool {
	types := s.types(name)
	return len(types) > 0 && !slices.Contains(types, "string")
}

// check compares values with the schema, and names the first of them that is wrong.
func (s *schema) check(values map[string]json.RawMessage) error {
	whole := map[string]any{}
	for name, value := range values {
		decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
		if err != nil {
			return provider.Invalidf("variables."+name, "is no JSON")
		}
		whole[name] = decoded
	}
	var wrong *jsonschema.ValidationError
	if err := s.whole.Validate(whole); !errors.As(err, &wrong) {
		return err
	}
	found := complaints(wrong)
	slices.SortFunc(found, func(a, b complaint) int {
		return strings.Compare(a.field+a.text, b.field+b.text)
	})
	return provider.Invalidf(found[0].field, "%s", found[0].text)
}

// complaint is one thing that is wrong, without the value, which may be nobody's business.
type complaint struct{ field, text string }

// complaints are the leaves of a tree of errors.
func complaints(e *jsonschema.ValidationError) []complaint {
	field := strings.Join(append([]string{"variables"}, e.InstanceLocation...), ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		var missing []complaint
		for _, name := range k.Missing {
			missing = append(missing, complaint{field + "." + name, "is missing"})
		}
		return missing
	case *kind.AdditionalProperties:
		return []complaint{{field + "." + slices.Min(k.Properties), "is not known there"}}
	case *kind.AnyOf, *kind.OneOf:
		return []complaint{{field, "is of none of the forms that the template takes"}}
	}
	if len(e.Causes) == 0 {
		return []complaint{{field, sentence(e.ErrorKind)}}
	}
	var all []complaint
	for _, cause := range e.Causes {
		all = append(all, complaints(cause)...)
	}
	return all
}

// sentence says what a value must be.
func sentence(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + wanted(k.Want)
	case *kind.Enum:
		var words []string
		for _, want := range k.Want {
			words = append(words, fmt.Sprint(want))
		}
		return "must be one of " + strings.Join(words, ", ")
	case *kind.Const:
		return fmt.Sprintf("must be %v", k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("must match %s", k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "must be more than " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "must be less than " + k.Want.RatString()
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.UniqueItems:
		return "must not have an item twice"
	}
	return fmt.Sprintf("does not keep the rule %q of the template's schema", strings.Join(k.KeywordPath(), "."))
}
