// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls the cloud. Its errors are [*Error], with Status 0 where the cloud did not answer. It never tries again by itself.
type Client struct {
	// Endpoint is the cloud's address, such as http://127.0.0.1:8080; Token the bearer token.
	Endpoint, Token string
	// HTTP is what calls; nil: http.DefaultClient.
	HTTP *http.Client
}

// WhoAmI says whose the token is.
func (c Client) WhoAmI(ctx context.Context) (WhoAmI, error) {
	var answer WhoAmI
	err := c.call(ctx, http.MethodGet, "/v1/whoami", nil, nil, &answer)
	return answer, err
}

// Regions lists the regions.
func (c Client) Regions(ctx context.Context) ([]string, error) {
	var answer struct {
		Regions []string `json:"regions"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/regions", nil, nil, &answer)
	return answer.Regions, err
}

// Get looks at one thing by its ID. The region is where it is thought to be; empty: not known.
func (c Client) Get(ctx context.Context, id, region string) (Thing, error) {
	var answer Thing
	query := url.Values{}
	if region != "" {
		query.Set("region", region)
	}
	err := c.call(ctx, http.MethodGet, path(id), query, nil, &answer)
	return answer, err
}

// List collects all pages of the things of a kind in a region that have the labels. What was seen before an error is returned with
// it: it is no list.
func (c Client) List(ctx context.Context, kind, region string, labels map[string]string) ([]Thing, error) {
	query := url.Values{"kind": {kind}, "region": {region}}
	for name, value := range labels {
		query.Add("label", name+"="+value)
	}
	var all []Thing
	for {
		var p page
		if err := c.call(ctx, http.MethodGet, "/v1/things", query, nil, &p); err != nil {
			return all, err
		}
		if all = append(all, p.Things...); p.Next == "" {
			return all, nil
		}
		query.Set("pageToken", p.Next)
	}
}

// Put makes a thing, or makes it like s.
func (c Client) Put(ctx context.Context, id string, s Spec) (Thing, error) {
	var answer Thing
	err := c.call(ctx, http.MethodPut, path(id), nil, s, &answer)
	return answer, err
}

// Delete begins to delete a thing. One that is not there is an error that is [CodeNotFound].
func (c Client) Delete(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, path(id), nil, nil, nil)
}

// Credential asks for a way into a cluster.
func (c Client) Credential(ctx context.Context, id string) (Credential, error) {
	var answer Credential
	err := c.call(ctx, http.MethodPost, path(id)+"/credential", nil, nil, &answer)
	return answer, err
}

// path is where a thing is. An ID that is none leads nowhere.
func path(id string) string {
	kind, name, _ := strings.Cut(id, "/")
	return "/v1/things/" + url.PathEscape(kind) + "/" + url.PathEscape(cmp.Or(name, "-"))
}

func (c Client) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("writing a request to the cloud: %w", err)
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.Endpoint, "/")+path+"?"+query.Encode(), sent)
	if err != nil {
		return &Error{Code: CodeInvalid, Message: "the cloud's address can't be used: give one such as https://cloud.example.com"}
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	answer, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		// Not err itself, which names ports.
		return &Error{Code: CodeUnavailable, Message: "the cloud does not answer"}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return &Error{Code: CodeUnavailable, Message: "the cloud's answer breaks off"}
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return failed(answer, text)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &Error{Status: answer.StatusCode, Code: CodeInternal, Message: "the cloud's answer can't be read"}
	}
	return nil
}

// failed reads an error.
func failed(answer *http.Response, text []byte) error {
	var told struct {
		Error Error `json:"error"`
	}
	if json.Unmarshal(text, &told) != nil || told.Error.Code == "" {
		told.Error = Error{Code: CodeInternal, Message: "the cloud answers " + strconv.Itoa(answer.StatusCode)}
	}
	e := told.Error
	e.Status = answer.StatusCode
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		e.After = time.Duration(seconds) * time.Second
	}
	return &e
}
