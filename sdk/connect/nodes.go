// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

const (
	// lookAt is how many nodes beyond the first are looked at for a providerID: the first may be joining just now.
	lookAt = 20
	// lookPage is how many of them are asked for at once: a node with its images is up to 60 KB.
	lookPage = 10
	// countPage and countPages bound counting where the server does not count: 20 pages of 500.
	countPage, countPages = 500, 20
	// mostInPage is more nodes than fit into an answer that is read; empty ones would cost time.
	mostInPage = 20_000
	// mostNodes is more nodes than any cluster has.
	mostNodes = 1_000_000
	// longestContinue bounds the token that we send back, in bytes.
	longestContinue = 8 << 10
)

// metadataOnly asks for the list's objects without spec and status.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// node is what is read of a Node.
type node struct {
	Metadata struct {
		Labels struct {
			Region string `json:"topology.kubernetes.io/region"`
		} `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		ProviderID string `json:"providerID"`
	} `json:"spec"`
}

// nodeList is one page: the first nodes of it, and how it goes on.
type nodeList struct {
	kind  string
	count int64
	first []node
	page  struct {
		Continue  string `json:"continue"`
		Remaining *int64 `json:"remainingItemCount"`
	}
}

// goesOn says whether there is another page that we would ask for.
func (l nodeList) goesOn() bool {
	return l.page.Continue != "" && len(l.page.Continue) <= longestContinue
}

// nodes reads the number of nodes, provider and region into c, without listing all nodes.
func (s *session) nodes(ctx context.Context, c *Cluster) error {
	list, status, err := s.nodePage(ctx, 1, "", "")
	switch {
	case err != nil:
		return err
	case status == http.StatusForbidden:
		c.Limits = append(c.Limits, LimitNodes)
		c.NodesUnknown = "the account may not list nodes"
		return nil
	case status != http.StatusOK:
		c.NodesUnknown = "the API server knows no nodes"
		return nil
	}
	if err := s.count(ctx, list, c); err != nil {
		return err
	}
	return s.place(ctx, list, c)
}

// count sets c.Nodes or c.NodesUnknown. One node and the number of the remaining ones is enough; where the server does not
// give that number, the rest is counted page by page.
func (s *session) count(ctx context.Context, list nodeList, c *Cluster) error {
	total := list.count
	switch {
	case list.page.Remaining != nil:
		total += *list.page.Remaining
		if *list.page.Remaining < 0 || total < 0 {
			total = mostNodes + 1
		}
	case list.page.Continue != "":
		rest, unknown, err := s.countRest(ctx, list)
		if err != nil {
			return err
		}
		if unknown != "" {
			c.NodesUnknown = unknown
			return nil
		}
		total += rest
	}
	if total > mostNodes {
		c.NodesUnknown = "the API server's number of nodes can't be true"
		return nil
	}
	n := int32(total)
	c.Nodes = &n
	return nil
}

// countRest counts the nodes after a page, or says why it can't.
func (s *session) countRest(ctx context.Context, list nodeList) (rest int64, unknown string, err error) {
	for range countPages {
		if !list.goesOn() {
			return 0, "the API server's list of nodes breaks off", nil
		}
		var status int
		if list, status, err = s.nodePage(ctx, countPage, list.page.Continue, metadataOnly+",application/json"); err != nil {
			return 0, "", err
		}
		if status != http.StatusOK {
			return 0, "the API server's list of nodes breaks off", nil
		}
		rest += list.count
		if list.page.Continue == "" {
			return rest, "", nil
		}
		if list.page.Remaining != nil && *list.page.Remaining >= 0 && *list.page.Remaining <= mostNodes {
			return rest + *list.page.Remaining, "", nil
		}
	}
	return 0, "there are more than " + strconv.Itoa(countPage*countPages) + ", and the API server gives no number", nil
}

// place sets provider and region from the first node that tells, looking at a few more where the first does not.
func (s *session) place(ctx context.Context, list nodeList, c *Cluster) error {
	for looked := 0; ; looked += lookPage {
		for _, n := range list.first {
			if c.Provider == "" {
				c.Provider = ProviderOf(n.Spec.ProviderID, s.prefixes)
			}
			if region := n.Metadata.Labels.Region; c.Region == "" && IsRegion(region) {
				c.Region = region
			}
			if n.Spec.ProviderID != "" {
				return nil
			}
		}
		if looked >= lookAt || !list.goesOn() {
			return nil
		}
		next, status, err := s.nodePage(ctx, lookPage, list.page.Continue, "")
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return nil
		}
		list = next
	}
}

// nodePage asks for up to limit nodes, from where a page before ended.
func (s *session) nodePage(ctx context.Context, limit int, from, accept string) (nodeList, int, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if from != "" {
		query.Set("continue", from)
	}
	var list nodeList
	status, err := s.get(ctx, request{
		path: "/api/v1/nodes", query: query, accept: accept, limit: listBody,
		into: func(r io.Reader) error {
			var err error
			list, err = decodeNodes(r)
			return err
		},
	})
	if err == nil && status == http.StatusOK && list.kind != "NodeList" && list.kind != "PartialObjectMetadataList" {
		return nodeList{}, 0, s.fail(NotKubernetes, "answers with something else when asked for its nodes")
	}
	return list, status, err
}

// decodeNodes reads a list one node at a time and keeps only the first few: a server that ignores limit, or that sends
// nothing but empty nodes, must not cost more memory than the bytes it sends.
func decodeNodes(r io.Reader) (nodeList, error) {
	var list nodeList
	decoder := json.NewDecoder(r)
	if err := expect(decoder, json.Delim('{')); err != nil {
		return list, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return list, err
		}
		switch key {
		case "kind":
			err = decoder.Decode(&list.kind)
		case "metadata":
			err = decoder.Decode(&list.page)
		case "items":
			err = list.decodeItems(decoder)
		default:
			var skipped json.RawMessage
			err = decoder.Decode(&skipped)
		}
		if err != nil {
			return list, err
		}
	}
	return list, expect(decoder, json.Delim('}'))
}

func (l *nodeList) decodeItems(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return errShape
	}
	for decoder.More() {
		var n node
		if err := decoder.Decode(&n); err != nil {
			return err
		}
		if l.count++; l.count > mostInPage {
			return errTooMuch
		}
		if len(l.first) < lookPage {
			l.first = append(l.first, n)
		}
	}
	return expect(decoder, json.Delim(']'))
}

var errShape = errors.New("another shape than a list")

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if token != want {
		return errShape
	}
	return nil
}
