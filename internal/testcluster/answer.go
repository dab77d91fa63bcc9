// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// answer answers one request by the behaviour of this moment.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	b := s.record(r)
	for name, value := range b.Header {
		w.Header().Set(name, value)
	}
	if !s.authenticated(b, r) {
		status(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	onPath := func(suffix string) bool { return strings.HasSuffix(r.URL.Path, suffix) }
	if slices.ContainsFunc(b.Forbidden, onPath) {
		status(w, http.StatusForbidden, "Forbidden")
		return
	}
	if b.Only == nil || slices.ContainsFunc(b.Only, onPath) {
		if s.fault(w, r, b) {
			return
		}
	}
	write(w, b, r)
}

// authenticated says whether the request carries the token, or a certificate of the CA.
func (s *Server) authenticated(b Behaviour, r *http.Request) bool {
	if b.Token == "" || r.Header.Get("Authorization") == "Bearer "+b.Token {
		return true
	}
	if len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.ca.certificate)
	_, err := r.TLS.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err == nil
}

// write gives the right answer.
func write(w http.ResponseWriter, b Behaviour, r *http.Request) {
	var answer object
	switch {
	case strings.HasSuffix(r.URL.Path, "/version"):
		answer = object{"major": "1", "minor": "31", "gitVersion": b.Version, "platform": "linux/amd64"}
	case strings.HasSuffix(r.URL.Path, "/api/v1/nodes"):
		if b.NoTable && asTable(r) {
			status(w, http.StatusNotAcceptable, "NotAcceptable")
			return
		}
		if b.Table != "" && asTable(r) {
			_, _ = io.WriteString(w, b.Table)
			return
		}
		answer = nodeList(b, r)
	case strings.HasSuffix(r.URL.Path, "/api/v1/namespaces/kube-system"):
		answer = object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{"name": "kube-system", "uid": b.UID}}
	}
	if answer == nil {
		status(w, http.StatusNotFound, "NotFound")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// nodeList is a page of nodes, with the semantics of Kubernetes' chunked lists: limit, continue and remainingItemCount.
func nodeList(b Behaviour, r *http.Request) object {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("continue"))
	from = min(max(from, 0), len(b.Nodes))
	to := len(b.Nodes)
	if limit > 0 && !b.IgnoreLimit {
		to = min(from+limit, to)
	}
	kind, bare := "NodeList", strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
	if bare {
		kind = "PartialObjectMetadataList"
	}
	page := object{"resourceVersion": "1"}
	if to < len(b.Nodes) {
		page["continue"] = strconv.Itoa(to)
		if !b.NoCount {
			page["remainingItemCount"] = len(b.Nodes) - to
		}
	}
	if asTable(r) {
		return nodeTable(b.Nodes[from:to], page)
	}
	items := make([]object, 0, to-from)
	for _, n := range b.Nodes[from:to] {
		items = append(items, nodeObject(n, bare))
	}
	return object{"kind": kind, "apiVersion": "v1", "metadata": page, "items": items}
}

func asTable(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "as=Table") }

// nodeTable is a page as kubectl get nodes shows it. JSON sorts its fields, so the columns come before the
// rows as they do from a real server.
func nodeTable(nodes []Node, page object) object {
	rows := make([]object, 0, len(nodes))
	for _, n := range nodes {
		state := "Ready,SchedulingDisabled"
		if n.NotReady {
			state = "NotReady"
		}
		rows = append(rows, object{"cells": []any{n.Name, state, "<none>", "5d", "v1.31.4"}, "object": nil})
	}
	var columns []object
	for _, name := range []string{"Name", "Status", "Roles", "Age", "Version"} {
		columns = append(columns, object{"name": name, "type": "string"})
	}
	return object{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": page, "columnDefinitions": columns, "rows": rows}
}

func nodeObject(n Node, bare bool) object {
	metadata := object{"name": n.Name, "labels": n.Labels}
	if bare {
		return object{"metadata": metadata}
	}
	ready := "True"
	if n.NotReady {
		ready = "False"
	}
	return object{
		"metadata": metadata,
		"spec":     object{"providerID": n.ProviderID},
		"status":   object{"conditions": []object{{"type": "Ready", "status": ready}}},
	}
}

// status answers with Kubernetes' Status object.
func status(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
		"message": "the test cluster answers " + reason,
	})
}

// fault answers wrongly where the behaviour asks for it, and says whether it did.
func (s *Server) fault(w http.ResponseWriter, r *http.Request, b Behaviour) bool {
	if b.Delay > 0 && !s.wait(r, b.Delay) {
		panic(http.ErrAbortHandler)
	}
	switch {
	case b.Hang:
		s.wait(r, 0)
		// Returning would be an answer, an empty one.
		panic(http.ErrAbortHandler)
	case b.Redirect != "":
		http.Redirect(w, r, b.Redirect, http.StatusFound)
	case b.Cut:
		_, _ = io.WriteString(w, `{"kind":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case b.Drip > 0:
		s.drip(w, r, b.Drip)
	case b.GzipBomb && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
		w.Header().Set("Content-Encoding", "gzip")
		s.pour(flushing{gzip.NewWriter(w)}, r, `{"gitVersion":"`, strings.Repeat("v", 1<<20))
	case b.Huge, b.GzipBomb:
		s.pour(w, r, `{"gitVersion":"`, strings.Repeat("v", 32<<10))
	case b.HugeList:
		s.pour(w, r, `{"kind":"NodeList","items":[{}`, strings.Repeat(",{}", 8<<10))
	case b.Status != 0 || b.Body != "":
		if b.Status != 0 {
			w.WriteHeader(b.Status)
		}
		_, _ = io.WriteString(w, b.Body)
	default:
		return false
	}
	return true
}

// wait waits for so long, or without an end for 0, and says whether the client still waits too.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// pour sends first and then more for ever.
func (s *Server) pour(w io.Writer, r *http.Request, first, more string) {
	_, err := io.WriteString(w, first)
	for err == nil && r.Context().Err() == nil {
		select {
		case <-s.closing:
			return
		default:
			_, err = io.WriteString(w, more)
		}
	}
}

// flushing sends each write on at once: so much fits into a compressor that nothing would come out for seconds.
type flushing struct{ *gzip.Writer }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, f.Flush()
}

// drip sends an answer without an end, byte by byte.
func (s *Server) drip(w http.ResponseWriter, r *http.Request, every time.Duration) {
	flush := http.NewResponseController(w)
	for ok := true; ok; ok = s.wait(r, every) {
		if _, err := fmt.Fprint(w, " "); err != nil {
			return
		}
		_ = flush.Flush()
	}
}
