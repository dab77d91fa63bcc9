// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

// tokenSecret is a Secret that a token is bound to. Nothing is in it.
type tokenSecret struct {
	number    int
	name, uid string
}

// metadata is what is read of a Secret: never its data.
type metadata struct {
	Metadata struct {
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"metadata"`
}

// onlyMetadata asks for objects without what is in them.
const (
	onlyMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	onlyMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// tokenSecrets lists ours, the oldest first.
func (s *session) tokenSecrets(ctx context.Context) ([]tokenSecret, error) {
	var list struct {
		Items []metadata `json:"items"`
	}
	status, err := s.send(ctx, send{
		method: http.MethodGet, path: inSystem("secrets"), accept: onlyMetadataList, into: &list,
		query: url.Values{"labelSelector": {"app.kubernetes.io/managed-by=infrared"}},
	})
	if err := s.judge(status, err, "list Secrets in "+AccountNamespace); err != nil {
		return nil, err
	}
	var all []tokenSecret
	for _, item := range list.Items {
		digits, ours := strings.CutPrefix(item.Metadata.Name, TokenSecretPrefix)
		number, err := strconv.Atoi(digits)
		if ours && err == nil && number > 0 && IsUID(item.Metadata.UID) {
			all = append(all, tokenSecret{number: number, name: item.Metadata.Name, uid: item.Metadata.UID})
		}
	}
	slices.SortFunc(all, func(a, b tokenSecret) int { return cmp.Compare(a.number, b.number) })
	return all, nil
}

// mostTries bounds how often a number is taken just before us.
const mostTries = 20

// secretFor is the Secret for a new token. A renewal that nobody remembers has left one that is newer than that of the token in use;
// it is taken before another is made, or the one in use would soon be among the old ones.
func (s *session) secretFor(ctx context.Context, there []tokenSecret, own string) (tokenSecret, error) {
	number := 1
	if len(there) > 0 {
		newest := there[len(there)-1]
		inUse := slices.ContainsFunc(there, func(t tokenSecret) bool { return t.name == own })
		if inUse && newest.name != own {
			return newest, nil
		}
		number = newest.number + 1
	}
	for range mostTries {
		name := TokenSecretPrefix + strconv.Itoa(number)
		var made metadata
		status, err := s.send(ctx, send{
			method: http.MethodPost, path: inSystem("secrets"), accept: onlyMetadata, into: &made, body: object{
				"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": object{"name": name, "labels": marks()},
			},
		})
		if err := s.judge(status, err, "make the Secret "+AccountNamespace+"/"+name, http.StatusConflict); err != nil {
			return tokenSecret{}, err
		}
		if status != http.StatusConflict {
			return tokenSecret{number: number, name: name, uid: made.Metadata.UID}, nil
		}
		number++
	}
	return tokenSecret{}, provider.Errorf(provider.Conflict, "the Secrets %s… of the cluster are somebody else's: delete those that lack the label app.kubernetes.io/managed-by=infrared",
		AccountNamespace+"/"+TokenSecretPrefix)
}

// requestToken asks for a token that ends with its Secret.
func (s *session) requestToken(ctx context.Context, secret tokenSecret, lifetime time.Duration) (string, time.Time, error) {
	const what = "make a token of the ServiceAccount " + AccountNamespace + "/" + AccountName
	var made struct {
		Status struct {
			Token               string    `json:"token"`
			ExpirationTimestamp time.Time `json:"expirationTimestamp"`
		} `json:"status"`
	}
	status, err := s.send(ctx, send{
		method: http.MethodPost, path: inSystem("serviceaccounts", AccountName, "token"), into: &made, body: object{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{
				"expirationSeconds": int64(max(lifetime, shortestLifetime) / time.Second),
				"boundObjectRef":    object{"apiVersion": "v1", "kind": "Secret", "name": secret.name, "uid": secret.uid},
			},
		},
	})
	if err := s.judge(status, err, what); err != nil {
		return "", time.Time{}, err
	}
	token := made.Status.Token
	if subject, ok := kubeconfig.TokenSubject(provider.NewSecret(token)); !ok || subject.Name != AccountName {
		return "", time.Time{}, s.fail(NotKubernetes, "answers with something else when asked for a token")
	}
	if !made.Status.ExpirationTimestamp.After(s.now()) {
		return "", time.Time{}, provider.Errorf(provider.Other, "the API server %s gives a token that has ended already: compare its clock with this machine's", s.server.Host)
	}
	return token, made.Status.ExpirationTimestamp.UTC(), nil
}

// prune deletes the Secrets of old tokens, but not that of the token in use.
func (s *session) prune(ctx context.Context, all []tokenSecret, own string) error {
	slices.SortFunc(all, func(a, b tokenSecret) int { return cmp.Compare(a.number, b.number) })
	all = slices.CompactFunc(all, func(a, b tokenSecret) bool { return a.name == b.name })
	for _, old := range all[:max(0, len(all)-keptSecrets)] {
		if old.name == own {
			continue
		}
		status, err := s.send(ctx, send{method: http.MethodDelete, path: inSystem("secrets", old.name), accept: onlyMetadata})
		if err := s.judge(status, err, "delete the Secret "+AccountNamespace+"/"+old.name, http.StatusNotFound); err != nil {
			return err
		}
	}
	return nil
}

// decodeClaims reads what a token says of itself.
func decodeClaims(token string, into any) error {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return errors.New("it is no JSON Web Token")
	}
	plain, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, into)
}

// send is one request of Grant.
type send struct {
	method, path, accept string
	query                url.Values
	body                 any // nil: none; of a PATCH, a JSON merge patch
	into                 any // nil: the answer is not read
}

// send sends a request. It returns a status below 300 after the answer was read; also 403, 404 and 409, whose meaning depends on what was
// asked; every other status is an error.
func (s *session) send(ctx context.Context, r send) (int, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return 0, s.fail(Invalid, "can't be asked: %v", err)
		}
		body = bytes.NewReader(text)
	}
	to := *s.server.JoinPath(r.path)
	to.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, to.String(), body)
	if err != nil {
		return 0, s.fail(Invalid, "has an address that can't be asked")
	}
	req.Header.Set("User-Agent", "infrared")
	req.Header.Set("Accept", cmp.Or(r.accept, "application/json"))
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if !s.token.IsZero() {
		req.Header.Set("Authorization", "Bearer "+s.token.Reveal())
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return 0, s.transportError(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	switch status := answer.StatusCode; {
	case status == http.StatusForbidden, status == http.StatusNotFound, status == http.StatusConflict:
		return status, nil
	case status >= http.StatusMultipleChoices:
		return 0, s.statusError(status, r.path)
	case r.into == nil:
		return status, nil
	}
	limited := &bounded{from: answer.Body, left: listBody}
	if err := decodeJSON(r.into)(limited); err != nil {
		if limited.err != nil && !errors.Is(limited.err, io.EOF) {
			return 0, s.transportError(ctx, limited.err)
		}
		return 0, s.fail(NotKubernetes, "sends no JSON as Kubernetes does when asked for %s", r.path)
	}
	return answer.StatusCode, nil
}
