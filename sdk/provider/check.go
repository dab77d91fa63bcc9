// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much a plugin may say of itself. Much of it stands in the status of a Provider, which has to fit into the API server's store.
// Lengths of texts are in characters.
const (
	longestVersion = 64
	longestTitle   = 128
	longestPrefix  = 128
	longestWhy     = 1024
	longestGuarded = 256
	mostFacts      = 100 // templates, rules, node prefixes, credentials, prices of one template
	mostKinds      = 500
	largestSchema  = 256 << 10 // bytes
)

// Check says what is wrong with the facts, as Invalid with the field; nil: nothing. The SDK calls it before a plugin serves, and the
// host when it is told them.
func (f Facts) Check() error {
	switch {
	case !nameShape().MatchString(f.Name):
		return Invalidf("name", "%s is no provider's name: use lowercase letters, digits and hyphens, at most 63", quoted(f.Name))
	case f.Version == "":
		return Invalidf("version", "is missing: give the plugin's own version, such as v0.1.0")
	}
	if err := checkText("version", f.Version, longestVersion); err != nil {
		return err
	}
	if err := f.checkCounts(); err != nil {
		return err
	}
	for i, t := range f.Templates {
		if err := t.check(fmt.Sprintf("templates[%d]", i), f.Name); err != nil {
			return err
		}
	}
	for i, rule := range f.Names {
		if err := rule.check(fmt.Sprintf("names[%d]", i)); err != nil {
			return err
		}
	}
	for i, kind := range f.Kinds {
		if err := kind.check(fmt.Sprintf("kinds[%d]", i)); err != nil {
			return err
		}
	}
	return f.checkTexts()
}

func (f Facts) checkCounts() error {
	for _, list := range []struct {
		field     string
		has, most int
	}{
		{"templates", len(f.Templates), mostFacts}, {"names", len(f.Names), mostFacts}, {"nodePrefixes", len(f.NodePrefixes), mostFacts},
		{"credentials", len(f.Credentials), mostFacts}, {"kinds", len(f.Kinds), mostKinds},
	} {
		if list.has > list.most {
			return Invalidf(list.field, "has %d entries: at most %d can be kept", list.has, list.most)
		}
	}
	return nil
}

// checkTexts checks the lists that are of texts alone. A prefix without a scheme would claim other clouds' nodes.
func (f Facts) checkTexts() error {
	for i, prefix := range f.NodePrefixes {
		if len(prefix) > longestPrefix || !prefixShape().MatchString(prefix) {
			return Invalidf(fmt.Sprintf("nodePrefixes[%d]", i), "%s is not how a node's providerID begins: "+
				"give a scheme in lowercase with ://, such as aws://, and at most %d characters in all", quoted(prefix), longestPrefix)
		}
	}
	for i, name := range f.Credentials {
		if err := checkText(fmt.Sprintf("credentials[%d]", i), name, longestTitle); err != nil {
			return err
		}
	}
	return nil
}

func (t Template) check(field, provider string) error {
	of, name, _ := strings.Cut(t.Name, "/")
	if of != provider || !nameShape().MatchString(name) {
		return Invalidf(field+".name", "%s is no template's name: it is the provider's, a slash and the template's own, such as %s/cluster",
			quoted(t.Name), provider)
	}
	if err := checkText(field+".title", t.Title, longestTitle); err != nil {
		return err
	}
	if len(t.Variables) > largestSchema {
		return Invalidf(field+".variables", "is a schema of %d bytes: at most %d KiB can be kept", len(t.Variables), largestSchema>>10)
	}
	var schema struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(t.Variables, &schema); err != nil || schema.Type != "object" {
		return Invalidf(field+".variables", "must be a JSON Schema of type object")
	}
	if err := t.checkGuarded(field); err != nil {
		return err
	}
	if len(t.Prices) > mostFacts {
		return Invalidf(field+".prices", "has %d entries: at most %d can be kept", len(t.Prices), mostFacts)
	}
	for i, price := range t.Prices {
		if err := price.check(fmt.Sprintf("%s.prices[%d]", field, i)); err != nil {
			return err
		}
	}
	return nil
}

// checkGuarded checks the shape alone: one that names nothing would guard nothing, and nobody would notice.
func (t Template) checkGuarded(field string) error {
	if len(t.Guarded) > mostFacts {
		return Invalidf(field+".guarded", "has %d entries: at most %d can be kept", len(t.Guarded), mostFacts)
	}
	for i, name := range t.Guarded {
		if len(name) > longestGuarded || !guardedShape().MatchString(name) {
			return Invalidf(fmt.Sprintf("%s.guarded[%d]", field, i), "%s is neither a type of resource nor an address: "+
				"give one such as aws_eks_node_group or module.eks.aws_eks_cluster.this", quoted(name))
		}
	}
	return nil
}

func (p Price) check(field string) error {
	if p.AsOf.IsZero() || p.Source == "" || p.Item == "" {
		return Invalidf(field, "a price needs its item, the day on which it was read, and the page that it stood on")
	}
	if err := checkText(field+".item", p.Item, longestTitle); err != nil {
		return err
	}
	if err := checkText(field+".region", p.Region, longestTitle); err != nil {
		return err
	}
	return checkText(field+".source", p.Source, longestWhy)
}

func (r NameRule) check(field string) error {
	if err := checkText(field+".what", r.What, longestTitle); err != nil {
		return err
	}
	if err := checkText(field+".why", r.Why, longestWhy); err != nil {
		return err
	}
	if err := checkText(field+".pattern", r.Pattern, longestWhy); err != nil {
		return err
	}
	if _, err := regexp.Compile(r.Pattern); err != nil {
		return Invalidf(field+".pattern", "is no regular expression: %w", err)
	}
	return nil
}

func (k Kind) check(field string) error {
	if !nameShape().MatchString(k.Name) {
		return Invalidf(field+".name", "%s is no kind's name: use lowercase letters, digits and hyphens, at most 63", quoted(k.Name))
	}
	return checkText(field+".title", k.Title, longestTitle)
}

// checkText refuses what is too long or can't be shown.
func checkText(field, text string, most int) error {
	switch length := utf8.RuneCountInString(text); {
	case length > most:
		return Invalidf(field, "has %d characters: at most %d can be kept", length, most)
	case !utf8.ValidString(text) || strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return Invalidf(field, "has characters that can't be seen, such as the end of a line: leave them out")
	}
	return nil
}

// quoted is the beginning of a text that is refused, as messages show it.
func quoted(text string) string {
	const most = 100
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:most], ""))
}

// nameShape is how names that stand in labels and paths are made.
func nameShape() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`) }

// prefixShape is how the beginning of a node's spec.providerID is made.
func prefixShape() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9+.-]*://[!-~]*$`) }

// guardedShape is how a type of resource, or an address without the keys of instances, is made.
func guardedShape() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`)
}
