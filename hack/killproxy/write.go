// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"net/http"
	"strings"
)

// Write is one request that changes something on the server.
type Write struct {
	// Verb is Kubernetes' word for the request: create, update, patch, apply or delete.
	Verb string
	// Path is the request's path with the object's name replaced by {name}, so that the same write of two runs on
	// differently named objects reads the same. Namespaces stay, as they tell objects of one kind apart.
	Path string
	// Code is the HTTP status that the server answered with, 0 when it gave no answer or was never asked.
	Code int
}

// String is the verb and path.
func (w Write) String() string { return w.Verb + " " + w.Path }

func (w Write) same(other Write) bool { return w.Verb == other.Verb && w.Path == other.Path }

func newWrite(r *http.Request) *Write {
	return &Write{Verb: verb(r), Path: parsePath(r.URL.Path).String()}
}

// CountsAsWrite tells whether a request to a Kubernetes API server changes something that a program stands by:
// POST, PUT, PATCH and DELETE, except dry runs, leases (leader election renews them by the clock), events, the
// review APIs, which store nothing, and exec, attach, port-forward and proxy, which reach past the server.
func CountsAsWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return false
	}
	if r.URL.Query().Has("dryRun") {
		return false
	}
	p := parsePath(r.URL.Path)
	switch p.group {
	case "authentication.k8s.io", "authorization.k8s.io":
		return false
	}
	switch p.resource {
	case "events", "leases":
		return false
	}
	subresource, _, _ := strings.Cut(p.subresource, "/")
	switch subresource {
	case "exec", "attach", "portforward", "proxy":
		return false
	}
	return true
}

func verb(r *http.Request) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		return "delete"
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
		return "apply"
	}
	return "patch"
}

// objectPath is a Kubernetes API path taken apart. A path of another shape is in resource, whole.
type objectPath struct {
	root        string // /api/v1 or /apis/<group>/<version>, empty for a path of another shape
	group       string // empty for the core group
	namespace   string // empty for a cluster-scoped object
	resource    string
	named       bool
	subresource string
}

func parsePath(path string) objectPath {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var p objectPath
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		p.root, parts = "/"+strings.Join(parts[:2], "/"), parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		p.root, p.group, parts = "/"+strings.Join(parts[:3], "/"), parts[1], parts[3:]
	default:
		return objectPath{resource: path}
	}
	// A namespace's own subresources sit where a namespaced resource would.
	if len(parts) >= 3 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		p.namespace, parts = parts[1], parts[2:]
	}
	p.resource = parts[0]
	p.named = len(parts) > 1
	if len(parts) > 2 {
		p.subresource = strings.Join(parts[2:], "/")
	}
	return p
}

// String puts the path together again, with {name} where the object's name was.
func (p objectPath) String() string {
	if p.root == "" {
		return p.resource
	}
	out := p.root
	if p.namespace != "" {
		out += "/namespaces/" + p.namespace
	}
	out += "/" + p.resource
	if p.named {
		out += "/{name}"
	}
	if p.subresource != "" {
		out += "/" + p.subresource
	}
	return out
}
