// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// largest is how large a request may be, in bytes.
const largest = 1 << 20

// call is one request, after its token was judged.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	token Token
}

// routes is the API.
func (c *Cloud) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, what := range map[string]struct {
		do     string // in Faults.Denied
		writes bool
		run    func(call) *Error
	}{
		"GET /v1/whoami":                            {"whoami", false, c.whoami},
		"GET /v1/regions":                           {"regions", false, c.regions},
		"GET /v1/things":                            {"list", false, c.list},
		"GET /v1/things/{kind}/{name}":              {"get", false, c.get},
		"PUT /v1/things/{kind}/{name}":              {"put", true, c.put},
		"DELETE /v1/things/{kind}/{name}":           {"delete", true, c.remove},
		"POST /v1/things/cluster/{name}/credential": {"credential", true, c.credential},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			token, failed := c.enter(r, what.do, what.writes)
			if failed == nil {
				r.Body = http.MaxBytesReader(w, r.Body, largest)
				failed = what.run(call{w: w, r: r, token: token})
			}
			if failed != nil {
				failed.answer(w)
			}
		})
	}
	c.adminRoutes(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		failure(CodeNotFound, "there is no such address").answer(w)
	})
	return mux
}

// enter is what every call goes through: the cloud's trouble first, then the token, then its rights.
func (c *Cloud) enter(r *http.Request, do string, writes bool) (Token, *Error) {
	c.mu.Lock()
	faults, throttled := c.faults, c.throttled()
	c.mu.Unlock()
	switch {
	case faults.Silent:
		<-r.Context().Done()
		return Token{}, failure(CodeUnavailable, "the cloud does not answer")
	case faults.Down:
		return Token{}, failure(CodeUnavailable, "the cloud is down")
	case throttled:
		return Token{}, throttle(faults)
	}
	token, known := c.options.Tokens[bearer(r)]
	switch {
	case !known:
		return Token{}, failure(CodeUnauthenticated, "the cloud does not know the token: give one that is valid")
	case faults.Expired || !token.Expiry.IsZero() && !c.options.Now().Before(token.Expiry):
		return Token{}, failure(CodeUnauthenticated, "the token has expired: make a new one")
	case writes && token.ReadOnly || slices.Contains(faults.Denied, do):
		return Token{}, failure(CodeDenied, "the token lacks the right to %s: add it", do)
	}
	return token, nil
}

func throttle(f Faults) *Error {
	e := failure(CodeThrottled, "Too Many Requests: the cloud asks for fewer calls")
	e.After = time.Duration(cmp.Or(f.RetryAfter, 1)) * time.Second
	return e
}

func bearer(r *http.Request) string {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return text
}

// adminRoutes are for tests and developers.
func (c *Cloud) adminRoutes(mux *http.ServeMux) {
	admin := func(run http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if c.options.AdminToken == "" || bearer(r) != c.options.AdminToken {
				failure(CodeDenied, "only the administrator's token lets anybody in here").answer(w)
				return
			}
			run(w, r)
		}
	}
	mux.HandleFunc("GET /v1/admin/writes", admin(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"writes": c.Writes()})
	}))
	mux.HandleFunc("GET /v1/admin/faults", admin(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, c.Faults())
	}))
	mux.HandleFunc("PUT /v1/admin/faults", admin(func(w http.ResponseWriter, r *http.Request) {
		var f Faults
		if failed := decode(r, &f); failed != nil {
			failed.answer(w)
			return
		}
		if err := c.Set(f); err != nil {
			internal(err).answer(w)
			return
		}
		answer(w, http.StatusOK, f)
	}))
}

// WhoAmI is whose a token is.
type WhoAmI struct {
	// Account is the account's ID, Token the token's name.
	Account string `json:"account"`
	Token   string `json:"token"`
}

func (c *Cloud) whoami(in call) *Error {
	answer(in.w, http.StatusOK, WhoAmI{Account: c.options.Account, Token: in.token.Name})
	return nil
}

func (c *Cloud) regions(in call) *Error {
	answer(in.w, http.StatusOK, map[string]any{"regions": c.options.Regions})
	return nil
}

// decode reads a request's body. A field that nobody knows is somebody's mistake.
func decode(r *http.Request, into any) *Error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return failure(CodeInvalid, "the body is not what is expected: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return failure(CodeInvalid, "there is more than one value in the body")
	}
	return nil
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The caller may be gone, which is its own affair.
	_ = json.NewEncoder(w).Encode(body)
}
