// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpcloud is a small cloud with an HTTP API, for plugins and tests that need one without having an account anywhere: with
// bearer tokens, errors with codes, lists in pages, throttling, quotas, deletions that take a while, and a disk on which everything
// survives a kill -9. [New] is the cloud as a handler, [Client] is its client library.
//
//	GET    /v1/whoami                          whose token this is
//	GET    /v1/regions                         the names of the regions
//	GET    /v1/things?kind=&region=&label=k=v  a page of things; pageToken=… for the next one
//	GET    /v1/things/{kind}/{name}            one thing; region=… says where it is thought to be
//	PUT    /v1/things/{kind}/{name}            make it, or make it like this: again and again is once
//	DELETE /v1/things/{kind}/{name}            begin to delete it
//	POST   /v1/things/cluster/{name}/credential  an administrator's way into a cluster, for a quarter of an hour
//	GET    /v1/admin/writes                    what was written so far, and by whom
//	GET, PUT /v1/admin/faults                  what is wrong with the cloud: see [Faults]
//
// A thing's ID is <kind>/<name>, so whoever computes its name can find it, and make it once, without having kept anything. A cluster
// of this cloud is backed by a control plane that runs elsewhere: the property control_plane names one of those that the cloud was
// given a kubeconfig for.
package httpcloud

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// The kinds of thing.
const (
	KindCluster      = "cluster"
	KindDisk         = "disk"
	KindLoadBalancer = "load-balancer"
	KindNetwork      = "network"
	KindNodeGroup    = "node-group"
	KindSnapshot     = "snapshot"
)

// Kinds lists them, sorted.
func Kinds() []string {
	return []string{KindCluster, KindDisk, KindLoadBalancer, KindNetwork, KindNodeGroup, KindSnapshot}
}

// LabelOwner is the label that tells whose a thing is: a PUT to a thing with another value of it is refused.
const LabelOwner = "infrared-cluster-uid"

// The states of a thing. One that is gone has none: it is not found.
const (
	StatePending   = "pending"
	StateAvailable = "available"
	StateDeleting  = "deleting"
	// StateFailed is a snapshot that came to nothing.
	StateFailed = "failed"
)

// The properties of a thing that the cloud itself goes by. All others it just keeps.
const (
	// PropertyControlPlane is the name of the control plane behind a cluster.
	PropertyControlPlane = "control_plane"
	// PropertyNetwork is the ID of the network that a thing is in, which can't be deleted before the thing.
	PropertyNetwork = "network"
	// PropertyCluster is the same for a cluster.
	PropertyCluster = "cluster"
	// PropertyDelay is how long the answer to a PUT takes, after the thing was made, such as 5s.
	PropertyDelay = "delay"
	// PropertyFail makes a PUT fail: quota, denied, unavailable or invalid.
	PropertyFail = "fail"
)

// Spec is what a thing is to be like.
type Spec struct {
	// Region is where it is; it can't be changed.
	Region string `json:"region"`
	// Labels are the owner's, Properties whatever else.
	Labels     map[string]string `json:"labels,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
}

// Thing is one thing in the cloud.
type Thing struct {
	// ID is <kind>/<name>.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	Spec
	State string `json:"state"`
	// Version grows with every change.
	Version int `json:"version"`
	// Endpoint and CA are of a cluster only: the address of its API server, and PEM of who signed that one's certificate.
	Endpoint string `json:"endpoint,omitempty"`
	CA       string `json:"ca,omitempty"`
}

// Write is one line of the log of writes.
type Write struct {
	// By is the name of the token, Do one of create, update and delete, ID the thing.
	By string `json:"by"`
	Do string `json:"do"`
	ID string `json:"id"`
	// Owner is the thing's label [LabelOwner].
	Owner string `json:"owner,omitempty"`
}

// Token is what a bearer token lets its holder do.
type Token struct {
	// Name stands in the log of writes.
	Name string
	// ReadOnly lets nothing be made, changed or deleted, and nobody into a cluster.
	ReadOnly bool
	// Expiry is when it ends; zero: never.
	Expiry time.Time
}

// Options say what a cloud is like.
type Options struct {
	// Folder is where things are kept, one file each.
	Folder string
	// Account is the ID of the one account; empty: fake-account.
	Account string
	// Tokens are the bearer tokens; AdminToken is the one for /v1/admin, empty: there is none.
	Tokens     map[string]Token
	AdminToken string
	// Kubeconfigs are the paths of administrators' kubeconfigs by the names of their control planes. They are read at every use.
	// Without any, clusters are only names.
	Kubeconfigs map[string]string
	// Regions are the regions' names; nil: fake-1, fake-2, us-east-1 and us-west-2.
	Regions []string
	// PageSize is how many things a list gives at a time; 0: 50.
	PageSize int
	// Now is the clock by which tokens expire; nil: time.Now.
	Now func() time.Time
	// Before and After are called around each write, without holding anything up but this one: for tests that kill. Where Before
	// returns false, the request was lost on its way.
	Before func(Write) bool
	After  func(Write)
}

// Cloud is the cloud. It is an http.Handler.
type Cloud struct {
	options Options
	mux     *http.ServeMux

	mu     sync.Mutex
	things map[string]*kept
	writes []Write
	faults Faults
}

// kept is a thing, and what nobody sees of it.
type kept struct {
	Thing
	// settling counts the looks until it leaves a passing state, hidden the lists that do not have it yet.
	settling, hidden int
}

// New makes a cloud of what is in its folder, which is made where it is missing.
func New(o Options) (*Cloud, error) {
	if o.Account == "" {
		o.Account = "fake-account"
	}
	if o.Regions == nil {
		o.Regions = []string{"fake-1", "fake-2", "us-east-1", "us-west-2"}
	}
	if o.PageSize == 0 {
		o.PageSize = 50
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Regions = slices.Clone(o.Regions)
	c := &Cloud{options: o, things: map[string]*kept{}}
	if err := c.load(); err != nil {
		return nil, err
	}
	c.mux = c.routes()
	return c, nil
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }
