// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The streams of writes.
const (
	streamOperator = "operator"
	streamPod      = "pod"
	streamCloud    = "cloud"
)

// A life's Cluster is called life<process>-<number>, a name that is found wherever it stands: in a path, in JSON and in protobuf.
var (
	lifeName = regexp.MustCompile(`life[0-9]+-[0-9]+`)
	// objectName is a name that something of a life's has.
	objectName = regexp.MustCompile(`((lock-)?tfstate-default-|infrared-(plan|ledger|build)-|tofu-|cluster-)?life[0-9]+-[0-9]+[a-z0-9-]*`)
	suffix     = regexp.MustCompile(`-u[0-9a-f]{8}(-[0-9]+)?(-[ab][0-9]+)?$`)
	numbered   = regexp.MustCompile(`\{life\}-[0-9]+`)
)

// writeOf names a write by what it does, the same in every life, and says of which life it is. ok is false for what is none, or of no life.
func writeOf(stream string, r *http.Request, body []byte) (write, life string, ok bool) {
	path := r.URL.Path
	switch {
	case r.URL.Query().Has("dryRun"), strings.Contains(path, "/events"), strings.HasPrefix(path, "/apis/authorization"),
		strings.HasPrefix(path, "/apis/authentication"):
		return "", "", false
	}
	if life = lifeName.FindString(path); life == "" {
		life = lifeName.FindString(string(body))
	}
	if life == "" {
		return "", "", false
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if r.Method == http.MethodPost && stream != streamCloud {
		parts = append(parts, objectName.FindString(string(body)))
	}
	for i, part := range parts {
		parts[i] = nameless(part)
	}
	if n := len(parts) - 1; claim(parts) {
		parts[n] = "{claim}" // named by a hash
	}
	// The group and the version say nothing new.
	parts = parts[min(len(parts), map[string]int{"api": 2, "apis": 3, "v1": 1}[parts[0]]):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	return strings.ToLower(r.Method) + " " + strings.Join(parts, "/"), life, true
}

// nameless is a part of a path without what differs from life to life.
func nameless(part string) string {
	if !lifeName.MatchString(part) {
		return part
	}
	part = suffix.ReplaceAllString(part, "$2")
	return numbered.ReplaceAllString(lifeName.ReplaceAllString(part, "{life}"), "{life}")
}

func claim(parts []string) bool {
	n := len(parts) - 1
	return n > 0 && strings.HasPrefix(parts[n], "infrared-claim")
}

func TestWriteOf(t *testing.T) {
	for name, c := range map[string]struct {
		reason             string
		stream, method     string
		path, body         string
		write, life        string
		countsAsNoneOfLife bool
	}{
		"status": {
			reason: "the operator's own object", stream: streamOperator, method: http.MethodPatch, path: "/apis/infrared.darkshift.io/v1alpha1/clusters/life7-1/status",
			write: "patch clusters/{life}/status", life: "life7-1",
		},
		"part of the state": {
			reason: "each part of the state is a write of its own", stream: streamOperator, method: http.MethodDelete,
			path: "/api/v1/namespaces/infrared/secrets/tfstate-default-life7-12-u0123abcd-a3", write: "delete secrets/tfstate-default-{life}-a3", life: "life7-12",
		},
		"made": {
			reason: "what is made is named in the body, here in protobuf", stream: streamOperator, method: http.MethodPost,
			path: "/api/v1/namespaces/infrared/secrets", body: "k8s\x00\n\x0a-infrared-plan-life7-1-u0123abcd\x12\x00\x1a\x08infrared",
			write: "post secrets/infrared-plan-{life}", life: "life7-1",
		},
		"record": {
			reason: "generation and attempt differ from life to life", stream: streamPod, method: http.MethodPut,
			path: "/api/v1/namespaces/infrared/configmaps/tofu-life7-1-4-apply-u0123abcd-2", write: "put configmaps/tofu-{life}-apply", life: "life7-1",
		},
		"job": {
			reason: "a Job has the generation in its name", stream: streamOperator, method: http.MethodPost, path: "/apis/batch/v1/namespaces/infrared/jobs",
			body: `{"metadata":{"name":"tofu-life7-1-4-apply","namespace":"infrared"}}`, write: "post jobs/tofu-{life}-apply", life: "life7-1",
		},
		"cloud": {
			reason: "things have no namespace", stream: streamCloud, method: http.MethodPut, path: "/v1/things/network/life7-1-u0123abcd", body: "{}",
			write: "put things/network/{life}", life: "life7-1",
		},
		"somebody else's": {
			reason: "what is of no life is not killed at", stream: streamOperator, method: http.MethodPatch, path: "/apis/infrared.darkshift.io/v1alpha1/providers/fake/status",
			countsAsNoneOfLife: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), c.method, "https://127.0.0.1"+c.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			write, life, ok := writeOf(c.stream, r, []byte(c.body))
			if write != c.write || life != c.life || ok == c.countsAsNoneOfLife {
				t.Errorf("got %q of %q (%t), want %q of %q: %s", write, life, ok, c.write, c.life, c.reason)
			}
		})
	}
}
