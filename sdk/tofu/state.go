// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-exec/tfexec"

	"darkshift.io/infrared/sdk/provider"
)

// state is what OpenTofu knows of the outside.
type state struct {
	Lineage string           `json:"lineage"`
	Serial  json.Number      `json:"serial"`
	Outputs map[string]value `json:"outputs"`
	Blocks  []stateBlock     `json:"resources"`
}

type value struct {
	Value     json.RawMessage `json:"value"`
	Sensitive bool            `json:"sensitive"`
}

type stateBlock struct {
	Module    string          `json:"module"`
	Mode      string          `json:"mode"`
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	Instances []stateInstance `json:"instances"`
}

type stateInstance struct {
	Index      any             `json:"index_key"`
	Deposed    string          `json:"deposed"`
	Attributes map[string]any  `json:"attributes"`
	Sensitive  json.RawMessage `json:"sensitive_attributes"`
}

// pull reads the state, also when ctx has ended.
func (r *run) pull(ctx context.Context, dir string) (state, error) {
	ctx, cancel := later(ctx)
	defer cancel()
	var text string
	err := r.command(ctx, call{
		step: "reading the state", dir: dir, data: r.dataOf(dir),
		do: func(ctx context.Context, tf *tfexec.Terraform) (err error) {
			text, err = tf.StatePull(ctx)
			return err
		},
	})
	if err != nil {
		return state{}, err
	}
	var s state
	if strings.TrimSpace(text) == "" {
		return s, nil // nothing was ever written
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&s); err != nil {
		// Not err itself: it may quote what the state holds.
		return state{}, provider.Errorf(provider.Other, "reading the state: it is no state of OpenTofu's")
	}
	return s, nil
}

// things are the managed resources, by address.
func (s state) things() []Thing {
	var all []Thing
	for _, block := range s.Blocks {
		if block.Mode != "managed" {
			continue
		}
		for _, instance := range block.Instances {
			address := block.Type + "." + block.Name + index(instance.Index)
			if block.Module != "" {
				address = block.Module + "." + address
			}
			id, _ := instance.Attributes["id"].(string)
			if number, ok := instance.Attributes["id"].(json.Number); ok {
				id = number.String()
			}
			all = append(all, Thing{Address: address, Type: block.Type, ID: id, Attributes: instance.open()})
		}
	}
	slices.SortStableFunc(all, func(a, b Thing) int { return cmp.Compare(a.Address, b.Address) })
	return all
}

// open are the attributes without those that are sensitive, each whole where a part of it is.
func (i stateInstance) open() map[string]any {
	var paths [][]struct {
		Value any `json:"value"`
	}
	open := map[string]any{}
	if len(bytes.TrimSpace(i.Sensitive)) > 0 && json.Unmarshal(i.Sensitive, &paths) != nil {
		return open // what is sensitive can't be told
	}
	hidden := map[string]bool{}
	for _, path := range paths {
		if len(path) > 0 {
			hidden[fmt.Sprint(path[0].Value)] = true
		}
	}
	for name, attribute := range i.Attributes {
		if !hidden[name] {
			open[name] = attribute
		}
	}
	return open
}

func index(key any) string {
	switch key := key.(type) {
	case nil:
		return ""
	case string:
		quoted, _ := json.Marshal(key)
		return "[" + string(quoted) + "]"
	default:
		return fmt.Sprintf("[%v]", key)
	}
}

// outputs are the module's, without those that are sensitive.
func (s state) outputs() map[string]json.RawMessage {
	open := map[string]json.RawMessage{}
	for name, output := range s.Outputs {
		if !output.Sensitive {
			open[name] = output.Value
		}
	}
	return open
}

// resources are the things of the state that are something outside.
func (r *run) resources(s state) []provider.Resource {
	var all []provider.Resource
	for _, thing := range s.things() {
		if resource, ok := r.resource(thing); ok {
			all = append(all, resource)
		}
	}
	return all
}

// resource is what a thing is outside. Its Why is what an import needs, so that the ledger needs nothing beside.
func (r *run) resource(t Thing) (provider.Resource, bool) {
	resource := provider.Resource{Kind: strings.ReplaceAll(t.Type, "_", "-"), ID: t.ID}
	if name, ok := t.Attributes["name"].(string); ok {
		resource.Name = name
	}
	if r.o.Resource != nil {
		var outside bool
		if resource, outside = r.o.Resource(t); !outside {
			return provider.Resource{}, false
		}
	}
	resource.Proof, resource.Why = provider.ProofRecorded, madeAs(t, r.o.importID(t))
	return resource, true
}
