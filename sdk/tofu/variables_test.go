// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

// typed is a template with a variable of each type.
const typed = `{"type":"object","properties":{
	"name":{"type":"string"},"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"region":{"type":"string"},"node_count":{"type":"integer","minimum":1,"maximum":9},"ratio":{"type":"number"},"spot":{"type":"boolean"},
	"cidrs":{"type":"array","items":{"type":"string","pattern":"^[0-9./]+$"}},"tags":{"$ref":"#/$defs/tags"},"note":{"type":"string"},
	"size":{"enum":["small","large"],"type":"string"},"anything":{}
},"required":["region"],"additionalProperties":false,
"$defs":{"tags":{"type":"object","additionalProperties":{"type":"string"}}}}`

func TestVariables(t *testing.T) {
	tests := map[string]struct{ reason, line, want, err string }{
		"Number":          {"A number.", "node_count=3", `{"node_count":3}`, ""},
		"Boolean":         {"A truth value.", "spot=true", `{"spot":true}`, ""},
		"Fraction":        {"A number may be written in any of JSON's ways.", "ratio=1e3", `{"ratio":1e3}`, ""},
		"LeadingZero":     {"Text stays text.", "note=0123", `{"note":"0123"}`, ""},
		"Exponent":        {"The same.", "note=1e3", `{"note":"1e3"}`, ""},
		"Null":            {"The word null, not nothing.", "note=null", `{"note":"null"}`, ""},
		"True":            {"The word true.", "note=true", `{"note":"true"}`, ""},
		"List":            {"A list of one.", `cidrs=["198.51.100.7/32"]`, `{"cidrs":["198.51.100.7/32"]}`, ""},
		"Blanks":          {"Blanks around name, sign and value do not count.", ` cidrs = [ "1" , "2" ] `, `{"cidrs":["1","2"]}`, ""},
		"Object":          {"The line is parted at the first sign.", `tags={"k":"a=b","n":"x,y"}`, `{"tags":{"k":"a=b","n":"x,y"}}`, ""},
		"Signs":           {"Further signs belong to the value.", "note=a=b=c", `{"note":"a=b=c"}`, ""},
		"EmptyList":       {"An empty list is one.", "cidrs=[]", `{"cidrs":[]}`, ""},
		"EmptyObject":     {"An empty object is one.", "tags={}", `{"tags":{}}`, ""},
		"EmptyText":       {"So is an empty text.", "note=", `{"note":""}`, ""},
		"AnyType":         {"Where the schema gives no type, text is text.", "anything=3", `{"anything":"3"}`, ""},
		"Comment":         {"A comment is no variable.", "# comment\n\nspot=false", `{"spot":false}`, ""},
		"HalfList":        {"What begins as JSON is JSON.", "note=[not json", "", "variables.note: begins as JSON"},
		"OpenList":        {"Never passed on as half a list.", `cidrs=["a"`, "", "variables.cidrs: begins as JSON"},
		"BareKey":         {"Keys are quoted in JSON.", `tags={k:"v"}`, "", "variables.tags: begins as JSON"},
		"NoValue":         {"An object is whole.", `tags={"k":}`, "", "variables.tags: begins as JSON"},
		"EmptyNumber":     {"Nothing is no number.", "node_count=", "", "variables.node_count: must be a whole number"},
		"BadNumber":       {"A number with a leading zero is none in JSON.", "node_count=03", "", "variables.node_count: must be a whole number"},
		"HalfNode":        {"A whole number is whole.", "node_count=1.5", "", "variables.node_count: must be a whole number"},
		"TooMany":         {"The template's bounds hold.", "node_count=10", "", "variables.node_count: must be at most 9"},
		"YesIsNoBoolean":  {"Only two words are.", "spot=yes", "", "variables.spot: must be true or false"},
		"TextForList":     {"One address is no list of addresses.", "cidrs=198.51.100.7/32", "", `variables.cidrs: must be a list in JSON`},
		"ListForText":     {"A list is no text.", `note=["a"]`, "", "variables.note: must be text"},
		"ItemOfList":      {"The item that is wrong is named.", `cidrs=["1","x"]`, "", "variables.cidrs.1: must match"},
		"ValueOfObject":   {"So is the value of an object.", `tags={"k":1}`, "", "variables.tags.k: must be text"},
		"Enum":            {"The values that there are.", "size=medium", "", "variables.size: must be one of small, large"},
		"Unknown":         {"A typing error could leave an API open.", "cidr=[]", "", "variables.cidr: is no input of the template: did you mean cidrs?"},
		"UnknownFar":      {"Where nothing is near, all are listed.", "nope_at_all=1", "", "variables.nope_at_all: is no input of the template, which has anything, cidrs,"},
		"Twice":           {"One of them would win in silence.", "region=a\nregion=b", "", "variables.region: is there twice"},
		"NoSign":          {"This sets nothing.", "region", "", "variables: line 1 is no name=value"},
		"NotUTF8":         {"JSON could not carry it.", "note=\xff", "", "variables.note: is not UTF-8"},
		"ValueNotShown":   {"A value may be nobody's business.", "node_count=S3CR3T", "", "variables.node_count: must be a whole number"},
		"DuplicateInJSON": {"JSON itself allows it and takes the last.", `tags={"k":"a","k":"b"}`, `{"tags":{"k":"a","k":"b"}}`, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := fromLines(tc.line)
			if tc.err != "" {
				if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "S3CR3T") {
					t.Errorf("%s\ngot %s, %v; want %q", tc.reason, got, err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("%s\ngot %s, %v; want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}

// fromLines reads lines beside the region that the template requires.
func fromLines(lines string) (string, error) {
	texts, err := Lines(lines)
	if err != nil {
		return "", err
	}
	if _, given := texts["region"]; !given {
		texts["region"] = "x"
	}
	values, err := Variables(json.RawMessage(typed), texts)
	delete(values, "region")
	text, _ := json.Marshal(values)
	return string(text), err
}

func TestVariablesRequired(t *testing.T) {
	if _, err := Variables(json.RawMessage(typed), nil); err == nil || err.Error() != "variables.region: is missing" {
		t.Errorf("without what the template requires: %v", err)
	}
}

func TestComplete(t *testing.T) {
	ours := map[string]string{"infrared-cluster": "edge", "infrared-cluster-uid": "u"}
	tests := map[string]struct {
		reason    string
		variables map[string]string
		want      map[string]string
		err       string
	}{
		"Defaults": {
			reason:    "The name is the cluster's, the labels are ours.",
			variables: map[string]string{"region": `"x"`},
			want:      map[string]string{"region": `"x"`, "name": `"edge"`, "labels": `{"infrared-cluster":"edge","infrared-cluster-uid":"u"}`},
		},
		"OwnName": {
			reason:    "Another name for the cloud is a person's choice, and the label still tells whose it is.",
			variables: map[string]string{"region": `"x"`, "name": `"other"`, "labels": `{"team":"a"}`},
			want:      map[string]string{"region": `"x"`, "name": `"other"`, "labels": `{"infrared-cluster":"edge","infrared-cluster-uid":"u","team":"a"}`},
		},
		"TextFromHost": {
			reason:    "A host that keeps text hands text on.",
			variables: map[string]string{"region": `"x"`, "node_count": `"3"`, "cidrs": `"[\"1\"]"`, "spot": `"false"`, "note": `"[x"`},
			want: map[string]string{
				"region": `"x"`, "node_count": `3`, "cidrs": `["1"]`, "spot": `false`, "note": `"[x"`, "name": `"edge"`,
				"labels": `{"infrared-cluster":"edge","infrared-cluster-uid":"u"}`,
			},
		},
		"ForgedLabel": {
			reason:    "A label of ours with another value would make things that are somebody else's.",
			variables: map[string]string{"region": `"x"`, "labels": `{"infrared-cluster":"victim"}`},
			err:       "variables.labels: sets infrared-cluster",
		},
		"LabelsOfAnotherType": {
			reason:    "Labels are texts.",
			variables: map[string]string{"region": `"x"`, "labels": `{"a":1}`},
			err:       "variables.labels: must be an object of texts",
		},
		"NoJSON":  {reason: "Whatever the host did.", variables: map[string]string{"region": `x`}, err: "variables.region: is no JSON"},
		"Unknown": {reason: "OpenTofu would only warn.", variables: map[string]string{"regoin": `"x"`}, err: "did you mean region?"},
		"Missing": {reason: "Before anything is run.", err: "variables.region: is missing"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			req := provider.BuildRequest{Cluster: provider.Cluster{Name: "edge"}, Labels: ours, Variables: map[string]json.RawMessage{}}
			for name, value := range tc.variables {
				req.Variables[name] = json.RawMessage(value)
			}
			values, err := Options{Schema: json.RawMessage(typed)}.complete(req)
			if tc.err != "" {
				if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			got := map[string]string{}
			for name, value := range values {
				got[name] = string(value)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s\n%v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestTemplateWithoutLabels(t *testing.T) {
	o := Options{Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
	_, err := o.complete(provider.BuildRequest{Labels: map[string]string{"infrared-cluster": "edge"}})
	if !errors.Is(err, provider.Other) || !strings.Contains(err.Error(), `no variable "labels"`) {
		t.Errorf("what such a template makes is found by nobody: got %v", err)
	}
}

func TestSchemaReadsNothingElse(t *testing.T) {
	_, err := Variables(json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`), nil)
	if err == nil || !strings.Contains(err.Error(), "whole in itself") {
		t.Errorf("a schema that refers to a file: %v", err)
	}
}
