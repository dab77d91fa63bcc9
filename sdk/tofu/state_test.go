// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

const stateText = `{"version":4,"serial":7,"lineage":"x","outputs":{"a":{"value":1,"type":"number"},"b":{"value":"S3CR3T","type":"string","sensitive":true}},
"resources":[
 {"mode":"data","type":"aws_region","name":"r","instances":[{"attributes":{"id":"x"}}]},
 {"module":"module.m[\"k.v\"]","mode":"managed","type":"linode_lke_cluster","name":"c","instances":[{"index_key":0,"attributes":{"id":12345678901234567,"name":"edge","kubeconfig":"S3CR3T"},"sensitive_attributes":[[{"type":"get_attr","value":"kubeconfig"}]]}]},
 {"mode":"managed","type":"aws_x","name":"y","instances":[{"index_key":"a\"b","attributes":{"id":"i-1","secret":{"deep":"S3CR3T"}},"sensitive_attributes":[[{"type":"get_attr","value":"secret"},{"type":"get_attr","value":"deep"}]]},{"attributes":{}}]}
]}`

func TestThings(t *testing.T) {
	var s state
	decoder := json.NewDecoder(strings.NewReader(stateText))
	decoder.UseNumber()
	if err := decoder.Decode(&s); err != nil {
		t.Fatal(err)
	}
	want := []Thing{
		{Address: `aws_x.y`, Type: "aws_x", Attributes: map[string]any{}},
		{Address: `aws_x.y["a\"b"]`, Type: "aws_x", ID: "i-1", Attributes: map[string]any{"id": "i-1"}},
		{
			Address: `module.m["k.v"].linode_lke_cluster.c[0]`, Type: "linode_lke_cluster", ID: "12345678901234567",
			Attributes: map[string]any{"id": json.Number("12345678901234567"), "name": "edge"},
		},
	}
	if diff := cmp.Diff(want, s.things()); diff != "" {
		t.Errorf("managed things, without what is sensitive (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]json.RawMessage{"a": json.RawMessage("1")}, s.outputs()); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	r := &run{o: Options{Resource: func(t Thing) (provider.Resource, bool) {
		return provider.Resource{Kind: "lke", ID: "lke-" + t.ID, Name: "n"}, t.Type == "linode_lke_cluster"
	}}}
	resources := r.resources(s)
	if len(resources) != 1 || resources[0].ID != "lke-12345678901234567" || resources[0].Proof != provider.ProofRecorded {
		t.Errorf("the plugin's own words for a thing: %+v", resources)
	}
	if thing, ok := madeThing(resources[0].Why); !ok || thing.ID != "12345678901234567" {
		t.Errorf("an import needs OpenTofu's ID: %+v", thing)
	}
}
