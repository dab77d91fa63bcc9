// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Request is one request that the API server answered, as its audit log has it.
type Request struct {
	// Verb is Kubernetes' word: get, list, watch, create, update, patch, delete or deletecollection. A server-side apply is a patch.
	Verb string
	// Group, Resource, Subresource, Namespace and Name are what was asked for; all are empty for a path that is no resource.
	Group, Resource, Subresource, Namespace, Name string
	// Path is the URL as it was asked for, with its query.
	Path string
	// Code is the HTTP status of the answer.
	Code int
	// At is when the request came in.
	At time.Time
}

// Writes reports whether the request was to change something.
func (r Request) Writes() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// auditEvent is what is read of a line of the log (kind Event of audit.k8s.io/v1).
type auditEvent struct {
	Verb       string    `json:"verb"`
	RequestURI string    `json:"requestURI"`
	At         time.Time `json:"requestReceivedTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Requests are those that a user made since a time, in the order in which they were answered. A watch may be there twice: when it
// began and when it ended.
func (e *Env) Requests(user string, since time.Time) ([]Request, error) {
	data, err := os.ReadFile(e.auditLog)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	var requests []Request
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditEvent
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue // the last line may be half written
		}
		if event.User.Username != user || event.At.Before(since) {
			continue
		}
		requests = append(requests, Request{
			Verb: event.Verb, Group: event.Object.Group, Resource: event.Object.Resource, Subresource: event.Object.Subresource,
			Namespace: event.Object.Namespace, Name: event.Object.Name, Path: event.RequestURI, Code: event.Response.Code, At: event.At,
		})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return requests, nil
}
