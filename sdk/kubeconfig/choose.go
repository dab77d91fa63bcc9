// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"regexp"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// object is one map of the file and where it stands.
type object struct {
	path   string
	fields map[string]*yaml.Node
}

// newObject reads n as a map; a missing or null one is an empty map.
func newObject(path string, n *yaml.Node) (object, error) {
	o := object{path: path, fields: map[string]*yaml.Node{}}
	if n == nil || isNull(n) {
		return o, nil
	}
	if n.Kind != yaml.MappingNode {
		return o, refuse(path, ReasonFieldMalformed, "must be a map of fields")
	}
	for i := 0; i < len(n.Content); i += 2 {
		// null means not there, as it does to kubectl.
		if !isNull(n.Content[i+1]) {
			o.fields[n.Content[i].Value] = n.Content[i+1]
		}
	}
	return o, nil
}

// at is the path of a field of o.
func (o object) at(field string) string {
	if o.path == "" {
		return field
	}
	return o.path + "." + field
}

// text is a field's text as it was written; a number or a word such as "on" is taken as text too. Missing is "".
func (o object) text(field string) (string, error) {
	n, ok := o.fields[field]
	if !ok {
		return "", nil
	}
	if n.Kind != yaml.ScalarNode {
		return "", refuse(o.at(field), ReasonFieldMalformed, "must be a text")
	}
	return n.Value, nil
}

// isSet says whether a field holds anything: an empty text, list or map, and false, are nothing.
func (o object) isSet(field string) bool {
	n, ok := o.fields[field]
	switch {
	case !ok:
		return false
	case n.Kind == yaml.ScalarNode:
		return n.Value != "" && !(n.ShortTag() == "!!bool" && strings.EqualFold(n.Value, "false"))
	default:
		return len(n.Content) > 0
	}
}

// has says whether a field is there with anything but null.
func (o object) has(field string) bool {
	_, ok := o.fields[field]
	return ok
}

// choice is the current context with its cluster and its user.
type choice struct {
	name      string
	namespace string
	cluster   object
	user      object
}

// choose finds the current context and what it points to. It never falls back to another one.
func choose(root *yaml.Node) (*choice, error) {
	top, err := newObject("", root)
	if err != nil {
		return nil, err
	}
	if err := checkKind(top); err != nil {
		return nil, err
	}
	current, err := top.text("current-context")
	if err != nil {
		return nil, err
	}
	if current == "" {
		return nil, refuse("current-context", ReasonContext,
			"is not set, so it is open which context is meant; set it with kubectl config use-context NAME")
	}
	if err := checkName("current-context", current); err != nil {
		return nil, err
	}

	contexts, err := entry(top, "contexts", "context", current)
	if err != nil {
		return nil, err
	}
	if contexts == nil {
		return nil, refuse("current-context", ReasonContext,
			"names the context %q, which is not among contexts; set it with kubectl config use-context NAME", shown(current))
	}
	chosen := &choice{name: current}
	if chosen.namespace, err = contexts.text("namespace"); err != nil {
		return nil, err
	}
	if chosen.namespace != "" && !dnsLabel.MatchString(chosen.namespace) {
		return nil, refuse(contexts.at("namespace"), ReasonFieldMalformed, "is not the name of a namespace; correct it or leave it out")
	}
	if chosen.cluster, err = pointed(top, *contexts, "cluster"); err != nil {
		return nil, err
	}
	chosen.user, err = pointed(top, *contexts, "user")
	return chosen, err
}

var (
	kindName = regexp.MustCompile(`^[A-Za-z]{1,40}$`)
	dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// checkKind refuses other files that people paste, such as a Secret's manifest.
func checkKind(top object) error {
	kind, err := top.text("kind")
	if err != nil {
		return err
	}
	switch {
	case kind == "" || kind == "Config":
	case kind == "Secret":
		return refuse("kind", ReasonNotKubeconfig, "this is the manifest of a Secret; give the kubeconfig that is inside it, decoded from base64")
	case kindName.MatchString(kind):
		return refuse("kind", ReasonNotKubeconfig, "this is a %s and no kubeconfig, whose kind is Config", kind)
	default:
		return refuse("kind", ReasonNotKubeconfig, "must be Config")
	}
	version, err := top.text("apiVersion")
	if err != nil {
		return err
	}
	if version != "" && version != "v1" {
		return refuse("apiVersion", ReasonNotKubeconfig, "must be v1")
	}
	if !top.has("clusters") && !top.has("contexts") && !top.has("users") {
		return refuse("", ReasonNotKubeconfig, "this is no kubeconfig: it has no clusters, contexts and users")
	}
	return nil
}

// pointed finds the cluster or the user that a context names.
func pointed(top, context object, what string) (object, error) {
	name, err := context.text(what)
	if err != nil {
		return object{}, err
	}
	if name == "" {
		return object{}, refuse(context.at(what), ReasonMissing, "is not set; name one of %ss", what)
	}
	if err := checkName(context.at(what), name); err != nil {
		return object{}, err
	}
	found, err := entry(top, what+"s", what, name)
	if err != nil {
		return object{}, err
	}
	if found == nil {
		return object{}, refuse(context.at(what), ReasonMissing, "names %q, which is not among %ss; correct the name or add it", shown(name), what)
	}
	return *found, nil
}

// entry finds the one entry of a list by name and returns the map under its key inner; nil where there is none.
func entry(top object, list, inner, name string) (*object, error) {
	rows := top.fields[list]
	if rows == nil {
		return nil, nil
	}
	if rows.Kind != yaml.SequenceNode {
		return nil, refuse(list, ReasonFieldMalformed, "must be a list")
	}
	var found *object
	for _, row := range rows.Content {
		if row.Kind != yaml.MappingNode {
			return nil, refuse(list, ReasonFieldMalformed, "must be a list of maps, each with name and %s", inner)
		}
		if nameOf(row) != name {
			continue
		}
		path := list + "[" + shown(name) + "]"
		if found != nil {
			return nil, refuse(path, ReasonDuplicate, "is there twice; keep one")
		}
		o, err := newObject(path, row)
		if err != nil {
			return nil, err
		}
		if o, err = newObject(path+"."+inner, o.fields[inner]); err != nil {
			return nil, err
		}
		found = &o
	}
	return found, nil
}

// nameOf is the name of an entry, "" where it has none. It looks the key up by hand, as lists can be long.
func nameOf(row *yaml.Node) string {
	for i := 0; i < len(row.Content); i += 2 {
		if value := row.Content[i+1]; row.Content[i].Value == "name" && value.Kind == yaml.ScalarNode {
			return value.Value
		}
	}
	return ""
}

// checkName refuses names that could not be shown.
func checkName(field, name string) error {
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return refuse(field, ReasonFieldMalformed, "holds a character that can't be shown; rename it")
		}
	}
	return nil
}
