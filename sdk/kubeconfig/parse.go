// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth is how deep lists and maps may stand in each other. A kubeconfig needs 6; its extensions may need some more.
const maxDepth = 64

// parse turns text into the one map at its top, and makes sure that nothing in the tree is an alias, a tag or a key that
// is there twice: what a person reads must be what we read.
func parse(text []byte) (*yaml.Node, error) {
	root, err := parseJSON(text)
	if err != nil {
		root, err = parseYAML(text)
	}
	if err != nil {
		return nil, err
	}
	if root.Kind == yaml.ScalarNode && isBase64Kubeconfig(root.Value) {
		return nil, refuse("", ReasonEncoding, "the whole file is base64; decode it once, with base64 -d")
	}
	if err := checkTree(root, 0); err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, refuse("", ReasonNotKubeconfig, "this is no kubeconfig: it has no fields such as clusters, contexts and users")
	}
	return root, nil
}

// parseYAML reads the one document in text; empty ones before and after it do no harm.
func parseYAML(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var found *yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxError(text, err)
		}
		if len(document.Content) == 0 || isNull(document.Content[0]) {
			continue
		}
		if found != nil {
			return nil, refuse("", ReasonSyntax, "the file holds more than one YAML document; leave one and drop the rest, from its --- on")
		}
		found = document.Content[0]
	}
	if found == nil {
		return nil, refuse("", ReasonNotKubeconfig, "the file is empty; give the text of a kubeconfig")
	}
	return found, nil
}

var lineOfError = regexp.MustCompile(`line (\d+)`)

// syntaxError says what is wrong without the library's text, which may quote the file.
func syntaxError(text []byte, err error) *Error {
	if strings.Contains(err.Error(), "unknown anchor") {
		return refuseAlias()
	}
	where := "the file"
	if m := lineOfError.FindStringSubmatch(err.Error()); m != nil {
		where = "line " + m[1]
	}
	if indentsWithTab(text) {
		return refuse("", ReasonSyntax, "%s is not YAML: a line begins with a tab; indent with spaces", where)
	}
	return refuse("", ReasonSyntax, "%s is not YAML; kubectl config view --raw prints a good one", where)
}

func refuseAlias() *Error {
	return refuse("", ReasonSyntax, "YAML anchors and aliases (& and *) are not read; write the values out")
}

// parseJSON reads text as JSON into the same kind of tree. JSON is nearly YAML: tabs and some escapes are not.
func parseJSON(text []byte) (*yaml.Node, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return nil, errors.New("not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	root, err := jsonNode(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON object")
	}
	return root, nil
}

func jsonNode(decoder *json.Decoder, depth int) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		return jsonContainer(decoder, v, depth)
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}, nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: fmt.Sprint(v)}, nil
	}
}

func jsonContainer(decoder *json.Decoder, open json.Delim, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errors.New("too deep")
	}
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if open == '[' {
		node = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	for decoder.More() {
		// In an object the tokens alternate between key and value, so both kinds of container are a row of nodes.
		child, err := jsonNode(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, child)
	}
	_, err := decoder.Token()
	return node, err
}

// checkTree refuses what would let two readers of the file see two things.
func checkTree(n *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth:
		return refuse("", ReasonSyntax, "lists and maps stand more than %d deep in each other", maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return refuseAlias()
	case n.Style&yaml.TaggedStyle != 0:
		return refuse("", ReasonSyntax, "YAML tags (!…) are not read; write plain values")
	case n.Kind == yaml.MappingNode:
		if err := checkKeys(n); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if err := checkTree(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkKeys(n *yaml.Node) error {
	seen := make(map[string]struct{}, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			return refuseAlias()
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			return refuse("", ReasonSyntax, "a key is not plain text; write every key out")
		}
		if _, twice := seen[key.Value]; twice {
			return refuseTwice(key)
		}
		seen[key.Value] = struct{}{}
	}
	return nil
}

var plainKey = regexp.MustCompile(`^[A-Za-z-]{1,40}$`)

// refuseTwice names the key only where it looks like a field: a pasted token can end up as a key.
func refuseTwice(key *yaml.Node) *Error {
	name, where := "a key", ""
	if plainKey.MatchString(key.Value) {
		name = "the key " + key.Value
	}
	if key.Line > 0 {
		where = fmt.Sprintf(" (line %d)", key.Line)
	}
	return refuse("", ReasonDuplicate, "%s is there twice in one map%s; keep one", name, where)
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}
