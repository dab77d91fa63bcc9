// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// asTable asks for a list as kubectl get shows it: some 300 bytes a node instead of up to 60 KB. Nothing else is taken, or a server
// without tables would send whole nodes.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// readiness counts nodes, and of them the ready ones.
type readiness struct{ ready, total int32 }

// ready counts the nodes that are Ready. why says why they could not be counted; err, that the server does not answer.
func (s *session) ready(ctx context.Context) (count readiness, why string, err error) {
	const broken = "the API server's table of nodes breaks off"
	from := ""
	for range countPages {
		page, status, err := s.tablePage(ctx, from)
		switch {
		case isKind(err, NotKubernetes):
			return readiness{}, "the API server gives no table of its nodes", nil
		case err != nil:
			return readiness{}, "", err
		case status == http.StatusForbidden:
			return readiness{}, "the account may not list nodes", nil
		case status != http.StatusOK:
			return readiness{}, broken, nil
		}
		count.ready += page.ready
		count.total += page.total
		if page.next == "" {
			return count, "", nil
		}
		if len(page.next) > longestContinue || page.total == 0 {
			return readiness{}, broken, nil
		}
		from = page.next
	}
	return readiness{}, "there are more than " + strconv.Itoa(countPage*countPages), nil
}

// isKind says whether err is an Error of the kind.
func isKind(err error, kind Kind) bool {
	e, ok := err.(*Error) //nolint:errorlint // ours, never wrapped
	return ok && e.Kind == kind
}

// tablePage asks for a page of the table of nodes.
func (s *session) tablePage(ctx context.Context, from string) (nodeTable, int, error) {
	query := url.Values{"limit": {strconv.Itoa(countPage)}, "includeObject": {"None"}}
	if from != "" {
		query.Set("continue", from)
	}
	var page nodeTable
	status, err := s.get(ctx, request{
		path: "/api/v1/nodes", query: query, accept: asTable, limit: listBody,
		into: func(r io.Reader) error {
			var err error
			page, err = decodeTable(r)
			return err
		},
	})
	return page, status, err
}

// nodeTable is one page of a table of nodes: counts, and where it goes on.
type nodeTable struct {
	readiness
	next string
}

// decodeTable reads a table one row at a time and keeps none, as decodeNodes does.
func decodeTable(r io.Reader) (nodeTable, error) {
	var page nodeTable
	column := -1
	decoder := json.NewDecoder(r)
	if err := expect(decoder, json.Delim('{')); err != nil {
		return page, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return page, err
		}
		switch key {
		case "metadata":
			var metadata struct {
				Continue string `json:"continue"`
			}
			err = decoder.Decode(&metadata)
			page.next = metadata.Continue
		case "columnDefinitions":
			column, err = decodeColumns(decoder)
		case "rows":
			err = page.decodeRows(decoder, column)
		default:
			var skipped json.RawMessage
			err = decoder.Decode(&skipped)
		}
		if err != nil {
			return page, err
		}
	}
	if column < 0 {
		return page, errShape
	}
	return page, expect(decoder, json.Delim('}'))
}

// decodeColumns is the number of the column that says whether a node is ready.
func decodeColumns(decoder *json.Decoder) (int, error) {
	var columns []struct {
		Name string `json:"name"`
	}
	if err := decoder.Decode(&columns); err != nil {
		return -1, err
	}
	for i, column := range columns {
		if column.Name == "Status" {
			return i, nil
		}
	}
	return -1, errShape
}

func (t *nodeTable) decodeRows(decoder *json.Decoder, column int) error {
	token, err := decoder.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') || column < 0 {
		return errShape
	}
	for decoder.More() {
		var row struct {
			Cells []json.RawMessage `json:"cells"`
		}
		if err := decoder.Decode(&row); err != nil {
			return err
		}
		if column >= len(row.Cells) {
			return errShape
		}
		var state string
		if err := json.Unmarshal(row.Cells[column], &state); err != nil {
			return err
		}
		if t.total++; t.total > mostInPage {
			return errTooMuch
		}
		// What else there is, such as SchedulingDisabled, stands behind a comma.
		if first, _, _ := strings.Cut(state, ","); first == "Ready" {
			t.ready++
		}
	}
	return expect(decoder, json.Delim(']'))
}
