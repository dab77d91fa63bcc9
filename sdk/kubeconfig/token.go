// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// Subject is what a ServiceAccount token says about itself. Nobody checked its signature: use it to name things, never to
// allow them.
type Subject struct {
	// Namespace and Name are the ServiceAccount's.
	Namespace, Name string
	// Audiences are whom the token is for; empty in tokens of the old kind, kept in Secrets.
	Audiences []string
	// Expiry is when the token ends, to the second; zero where it never does.
	Expiry time.Time
}

// TokenSubject reads the claims of a ServiceAccount token. It is false where the token is another kind.
//
// The claims: sub is system:serviceaccount:NAMESPACE:NAME, aud a text or a list, exp in Unix seconds.
func TokenSubject(token Secret) (Subject, bool) {
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return Subject{}, false
	}
	plain, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return Subject{}, false
	}
	var claims struct {
		Subject  string          `json:"sub"`
		Audience json.RawMessage `json:"aud"`
		Expiry   float64         `json:"exp"`
	}
	if err := json.Unmarshal(plain, &claims); err != nil {
		return Subject{}, false
	}
	name, isAccount := strings.CutPrefix(claims.Subject, "system:serviceaccount:")
	namespace, name, both := strings.Cut(name, ":")
	if !isAccount || !both || !dnsLabel.MatchString(namespace) || !isObjectName(name) {
		return Subject{}, false
	}
	s := Subject{Namespace: namespace, Name: name, Audiences: audiences(claims.Audience)}
	const year9999 = 253402300799
	if claims.Expiry > 0 && claims.Expiry <= year9999 {
		s.Expiry = time.Unix(int64(claims.Expiry), 0).UTC()
	}
	return s, true
}

// isObjectName says whether name can be a ServiceAccount's: labels with dots between them, at most 253 characters.
func isObjectName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !dnsLabel.MatchString(label) {
			return false
		}
	}
	return true
}

func audiences(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	return many
}
