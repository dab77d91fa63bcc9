// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"time"
)

// Facts is what a plugin says about itself, once, at the handshake. They never change while it runs, and hold nothing
// secret. [Facts.Check] says what they must be like, and how much there may be.
type Facts struct {
	// Name is the provider's name as it stands in spec.provider, such as aws.
	Name string `json:"name"`
	// Version is the plugin's own, such as v0.14.0.
	Version string `json:"version"`
	// Templates are what it can build, sorted by name; empty: it builds nothing.
	Templates []Template `json:"templates,omitempty"`
	// Names are the rules that a cluster's name must keep here, beyond those for all clusters.
	Names []NameRule `json:"names,omitempty"`
	// NodePrefixes are how the spec.providerID of this cloud's nodes begins, such as aws://: a scheme with ://, at least.
	NodePrefixes []string `json:"nodePrefixes,omitempty"`
	// Kinds are the kinds of resource that Sweep looks for, sorted by name.
	Kinds []Kind `json:"kinds,omitempty"`
	// Credentials are the names of the values that a credentials Secret made by hand must hold.
	Credentials []string `json:"credentials,omitempty"`
}

// Description is what the host is told at the handshake.
type Description struct {
	Facts Facts `json:"facts"`
	// Capabilities are what [Capabilities] found, sorted.
	Capabilities []Capability `json:"capabilities,omitempty"`
}

// Template is something that the provider can build.
type Template struct {
	// Name is <provider>/<template>, such as aws/eks-cluster.
	Name string `json:"name"`
	// Title is what people see, such as "AWS · EKS".
	Title string `json:"title"`
	// Variables is a JSON Schema (2020-12) of type object with the template's inputs as its properties.
	Variables json.RawMessage `json:"variables"`
	// Guarded are what the cluster or its nodes are lost with: types of resource, such as aws_eks_node_group, or addresses without
	// the keys of instances, such as module.eks.aws_eks_cluster.this. An apply that destroys or replaces one needs a person's
	// approval. Empty: everything.
	Guarded []string `json:"guarded,omitempty"`
	// Prices are what a cluster of this template costs at the defaults of its variables.
	Prices []Price `json:"prices,omitempty"`
}

// Price is one list price, and how much of it a template needs.
type Price struct {
	// Item is what is paid for, such as "NAT gateway".
	Item string `json:"item"`
	// Region is where it costs that.
	Region string `json:"region"`
	// Hourly is the price of one, an hour.
	Hourly USD `json:"hourlyMicroUSD"`
	// MonthlyCap is the most that one costs a month; nil where there is no such limit.
	MonthlyCap *USD `json:"monthlyCapMicroUSD,omitempty"`
	// Count is how many of it a cluster has at the template's defaults.
	Count int64 `json:"count"`
	// AsOf is the day on which the price was read, Source the page on which it stood.
	AsOf   time.Time `json:"asOf"`
	Source string    `json:"source"`
}

// NameRule is a limit of this cloud on names.
type NameRule struct {
	// What is the thing whose name is made from the cluster's.
	What string `json:"what"`
	// Pattern is a regular expression in Go's syntax that the cluster's name must match whole; empty: any.
	Pattern string `json:"pattern,omitempty"`
	// MaxLength is how many characters the cluster's name may have; 0: any.
	MaxLength int32 `json:"maxLength,omitempty"`
	// Why is the reason, for the one whose name is refused.
	Why string `json:"why"`
}

// Kind is a kind of resource.
type Kind struct {
	// Name is lowercase with hyphens, such as load-balancer; Title what people see.
	Name  string `json:"name"`
	Title string `json:"title"`
}
