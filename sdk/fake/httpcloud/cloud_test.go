// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/fake/httpcloud"
)

const adminToken = "S3CR3T-of-the-admin"

func start(t *testing.T, change ...func(*httpcloud.Options)) (*httpcloud.Cloud, httpcloud.Client) {
	t.Helper()
	o := httpcloud.Options{
		Folder: t.TempDir(), PageSize: 2, AdminToken: adminToken,
		Tokens: map[string]httpcloud.Token{
			"writer": {Name: "writer"}, "reader": {Name: "reader", ReadOnly: true},
			"old": {Name: "old", Expiry: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
		},
	}
	for _, f := range change {
		f(&o)
	}
	cloud, err := httpcloud.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	return cloud, httpcloud.Client{Endpoint: server.URL, Token: "writer"}
}

func owned(by string) httpcloud.Spec {
	return httpcloud.Spec{Region: "fake-1", Labels: map[string]string{httpcloud.LabelOwner: by}}
}

// put makes a thing that must be made.
func put(t *testing.T, c httpcloud.Client, id string, s httpcloud.Spec) httpcloud.Thing {
	t.Helper()
	thing, err := c.Put(t.Context(), id, s)
	if err != nil {
		t.Fatal(err)
	}
	return thing
}

func ids(things []httpcloud.Thing) []string {
	var all []string
	for _, thing := range things {
		all = append(all, thing.ID)
	}
	return all
}

// Making a thing twice makes it once, however many ask at once.
func TestPutOnce(t *testing.T) {
	cloud, c := start(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := c.Put(t.Context(), "network/a", owned("me")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	want := []httpcloud.Write{{By: "writer", Do: "create", ID: "network/a", Owner: "me"}}
	if diff := cmp.Diff(want, cloud.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	changed := owned("me")
	changed.Properties = map[string]string{"count": "2"}
	if got := put(t, c, "network/a", changed); got.Version != 2 || len(cloud.Things()) != 1 {
		t.Errorf("after a change: %+v, %v", got, cloud.Things())
	}
}

func TestRefusals(t *testing.T) {
	cloud, c := start(t)
	put(t, c, "network/a", owned("me"))
	inside := owned("me")
	inside.Properties = map[string]string{httpcloud.PropertyNetwork: "network/a"}
	put(t, c, "cluster/a", inside)
	moved, failing, slow := owned("me"), owned("me"), owned("me")
	moved.Region = "fake-2"
	failing.Properties = map[string]string{httpcloud.PropertyFail: "quota"}
	slow.Properties = map[string]string{httpcloud.PropertyDelay: "soon"}
	as := func(token string) httpcloud.Client { return httpcloud.Client{Endpoint: c.Endpoint, Token: token} }
	puts := func(c httpcloud.Client, id string, s httpcloud.Spec) func() error {
		return func() error { _, err := c.Put(t.Context(), id, s); return err }
	}
	for name, tc := range map[string]struct {
		reason string
		do     func() error
		code   httpcloud.Code
		status int
	}{
		"no token":      {"nobody is let in", puts(as(""), "network/b", owned("me")), httpcloud.CodeUnauthenticated, http.StatusUnauthorized},
		"old token":     {"it has ended", puts(as("old"), "network/b", owned("me")), httpcloud.CodeUnauthenticated, http.StatusUnauthorized},
		"reader":        {"it may only look", puts(as("reader"), "network/b", owned("me")), httpcloud.CodeDenied, http.StatusForbidden},
		"another's":     {"a name belongs to one", puts(c, "network/a", owned("you")), httpcloud.CodeConflict, http.StatusConflict},
		"moved":         {"a region can't be changed", puts(c, "network/a", moved), httpcloud.CodeInvalid, http.StatusBadRequest},
		"quota":         {"the thing says so itself", puts(c, "network/b", failing), httpcloud.CodeQuota, http.StatusForbidden},
		"bad delay":     {"it is no duration", puts(c, "network/b", slow), httpcloud.CodeInvalid, http.StatusBadRequest},
		"no region":     {"things are somewhere", puts(c, "network/b", httpcloud.Spec{}), httpcloud.CodeInvalid, http.StatusBadRequest},
		"no kind":       {"there are six", puts(c, "moon/b", owned("me")), httpcloud.CodeInvalid, http.StatusBadRequest},
		"no name":       {"names are files, too", puts(c, "network/A.b", owned("me")), httpcloud.CodeInvalid, http.StatusBadRequest},
		"in use":        {"something is in it", func() error { return c.Delete(t.Context(), "network/a") }, httpcloud.CodeInUse, http.StatusConflict},
		"never was":     {"there is none", func() error { return c.Delete(t.Context(), "network/z") }, httpcloud.CodeNotFound, http.StatusNotFound},
		"no credential": {"there is no control plane", func() error { _, err := c.Credential(t.Context(), "cluster/a"); return err }, httpcloud.CodeUnavailable, http.StatusServiceUnavailable},
	} {
		err := tc.do()
		var e *httpcloud.Error
		if !errors.As(err, &e) || e.Code != tc.code || e.Status != tc.status || e.Message == "" {
			t.Errorf("%s: %v, want %s with %d: %s", name, err, tc.code, tc.status, tc.reason)
		}
	}
	if len(cloud.Things()) != 2 || len(cloud.Writes()) != 2 {
		t.Errorf("something was written all the same: %v", cloud.Writes())
	}
}

func TestList(t *testing.T) {
	cloud, c := start(t)
	var want []string
	for i := range 5 {
		id := fmt.Sprintf("disk/d-%d", i)
		put(t, c, id, owned("me"))
		want = append(want, id)
	}
	put(t, c, "disk/other", owned("you"))
	list := func(f httpcloud.Faults) ([]string, error) {
		if err := cloud.Set(f); err != nil {
			t.Fatal(err)
		}
		things, err := c.List(t.Context(), httpcloud.KindDisk, "fake-1", map[string]string{httpcloud.LabelOwner: "me"})
		return ids(things), err
	}
	for name, f := range map[string]httpcloud.Faults{"a good day": {}, "an empty page first": {EmptyPages: true}} {
		if got, err := list(f); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v, %v", name, err, got)
		}
	}
	if got, err := list(httpcloud.Faults{ThrottlePage: 2}); !errors.Is(err, httpcloud.CodeThrottled) || len(got) != 2 {
		t.Errorf("a list that breaks off: %v, %v", err, got)
	}
	if _, err := list(httpcloud.Faults{SilentRegions: []string{"fake-1"}}); !errors.Is(err, httpcloud.CodeUnavailable) {
		t.Errorf("a region that does not answer: %v", err)
	}
	if _, err := c.Get(t.Context(), "disk/gone", "fake-1"); !errors.Is(err, httpcloud.CodeUnavailable) {
		t.Errorf("what is gone from a region that does not answer: %v", err)
	}
	if got, _ := list(httpcloud.Faults{HiddenFromLists: want[:1]}); !cmp.Equal(want[1:], got) {
		t.Errorf("with one hidden: %v", got)
	}
	if err := cloud.Set(httpcloud.Faults{ListLag: 1}); err != nil {
		t.Fatal(err)
	}
	put(t, c, "disk/d-new", owned("me"))
	first, _ := list(httpcloud.Faults{})
	second, _ := list(httpcloud.Faults{})
	if len(first) != 5 || len(second) != 6 {
		t.Errorf("a new thing comes late: first %v, then %v", first, second)
	}
}

func TestThrottle(t *testing.T) {
	cloud, c := start(t)
	if err := cloud.Set(httpcloud.Faults{Throttle: 2, RetryAfter: 5}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := c.WhoAmI(t.Context())
		var e *httpcloud.Error
		if !errors.As(err, &e) || e.Status != http.StatusTooManyRequests || e.After != 5*time.Second {
			t.Errorf("a throttled call: %v", err)
		}
	}
	if who, err := c.WhoAmI(t.Context()); err != nil || who.Token != "writer" || who.Account != "fake-account" {
		t.Errorf("after the throttle: %+v, %v", who, err)
	}
}

// Everything is on disk: another process goes on where the first was killed, also in the middle of a deletion and of writing a file.
func TestRestart(t *testing.T) {
	folder := t.TempDir()
	in := func(o *httpcloud.Options) { o.Folder = folder }
	first, c := start(t, in)
	put(t, c, "network/a", owned("me"))
	put(t, c, "disk/b", owned("me"))
	if err := first.Set(httpcloud.Faults{Stalled: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "disk/b"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "things", "network.c.json.part"), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	second, c := start(t, in)
	if diff := cmp.Diff(first.Things(), second.Things()); diff != "" {
		t.Errorf("things (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(first.Writes(), second.Writes()); diff != "" || len(second.Writes()) != 3 {
		t.Errorf("writes (-before +after):\n%s", diff)
	}
	if got, err := c.Get(t.Context(), "disk/b", ""); err != nil || got.State != httpcloud.StateDeleting {
		t.Errorf("what was being deleted: %+v, %v", got, err)
	}
	if err := second.Set(httpcloud.Faults{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "disk/b", owned("me")); !errors.Is(err, httpcloud.CodeInUse) {
		t.Errorf("made anew while it is being deleted: %v", err)
	}
	if _, err := c.Get(t.Context(), "disk/b", ""); err != nil {
		t.Errorf("the look that it still survives: %v", err)
	}
	if _, err := c.Get(t.Context(), "disk/b", ""); !errors.Is(err, httpcloud.CodeNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

func TestAdmin(t *testing.T) {
	cloud, c := start(t)
	put(t, c, "network/a", owned("me"))
	ask := func(method, path, token, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, c.Endpoint+path, bytes.NewBufferString(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var text bytes.Buffer
		_, _ = text.ReadFrom(answer.Body)
		return answer.StatusCode, text.String()
	}
	if status, _ := ask(http.MethodGet, "/v1/admin/writes", "writer", ""); status != http.StatusForbidden {
		t.Errorf("a plugin's token at the administrator's door: %d", status)
	}
	var got struct{ Writes []httpcloud.Write }
	status, text := ask(http.MethodGet, "/v1/admin/writes", adminToken, "")
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK || len(got.Writes) != 1 {
		t.Errorf("the log of writes: %d %s", status, text)
	}
	if status, text := ask(http.MethodPut, "/v1/admin/faults", adminToken, `{"down":true}`); status != http.StatusOK || !cloud.Faults().Down {
		t.Errorf("setting a fault: %d %s", status, text)
	}
	if _, err := c.WhoAmI(t.Context()); !errors.Is(err, httpcloud.CodeUnavailable) {
		t.Errorf("a cloud that is down: %v", err)
	}
	if status, text := ask(http.MethodPut, "/v1/admin/faults", adminToken, `{"dwon":true}`); status != http.StatusBadRequest {
		t.Errorf("a fault that nobody knows: %d %s", status, text)
	}
}
