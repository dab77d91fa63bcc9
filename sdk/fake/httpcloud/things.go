// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// get answers one thing. The region is where the caller thinks it is: without that, nobody could tell a thing that is gone from one
// in a region that does not answer.
func (c *Cloud) get(in call) *Error {
	kind, name, failed := identify(in.r)
	if failed != nil {
		return failed
	}
	c.mu.Lock()
	seen, failed := c.seen(kind, name, in.r.URL.Query().Get("region"))
	c.mu.Unlock()
	if failed != nil {
		return failed
	}
	c.addEndpoint(&seen)
	answer(in.w, http.StatusOK, seen)
	return nil
}

// seen is a look at one thing. It needs the lock.
func (c *Cloud) seen(kind, name, region string) (Thing, *Error) {
	if region != "" || len(c.faults.DeniedKinds) > 0 {
		if failed := c.reachOne(kind, region); failed != nil {
			return Thing{}, failed
		}
	}
	k := c.things[kind+"/"+name]
	if k == nil {
		return Thing{}, failure(CodeNotFound, "there is no %s named %s", kind, name)
	}
	if failed := c.reachOne(kind, k.Region); failed != nil {
		return Thing{}, failed
	}
	seen := k.copy()
	if err := c.settle(k); err != nil {
		return Thing{}, internal(err)
	}
	return seen, nil
}

// reachOne is reach for a region that may be unknown, which is then no reason. It needs the lock.
func (c *Cloud) reachOne(kind, region string) *Error {
	if region == "" {
		region = "-"
	}
	return c.reach(kind, region)
}

// page is a page of a list.
type page struct {
	Things []Thing `json:"things"`
	// Next is the token of the next page; empty: this was the last.
	Next string `json:"nextPageToken,omitempty"`
}

// list answers a page. A page's token is its number and the last ID before it: one that only counted would skip a thing whenever
// another goes between two pages.
func (c *Cloud) list(in call) *Error {
	query := in.r.URL.Query()
	kind, region := query.Get("kind"), query.Get("region")
	number, after := 1, ""
	if token := query.Get("pageToken"); token != "" {
		count, id, _ := strings.Cut(token, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			return failure(CodeInvalid, "%q is no token of a page", token)
		}
		number, after = n, id
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed := c.reach(kind, region); failed != nil {
		return failed
	}
	if number == c.faults.ThrottlePage {
		return throttle(c.faults)
	}
	if number == 1 && c.faults.EmptyPages {
		answer(in.w, http.StatusOK, page{Things: []Thing{}, Next: "2:"})
		return nil
	}
	p, err := c.listed(kind, region, query["label"], after)
	if err != nil {
		return internal(err)
	}
	if p.Next != "" {
		p.Next = fmt.Sprintf("%d:%s", number+1, p.Next)
	}
	answer(in.w, http.StatusOK, p)
	return nil
}

// listed is a page of the things behind an ID; its Next is the last ID of it. It needs the lock.
func (c *Cloud) listed(kind, region string, labels []string, after string) (page, error) {
	p := page{Things: []Thing{}}
	for _, id := range slices.Sorted(maps.Keys(c.things)) {
		k := c.things[id]
		if id <= after || kind != "" && k.Kind != kind || region != "" && k.Region != region || slices.Contains(c.faults.HiddenFromLists, id) {
			continue
		}
		if slices.ContainsFunc(labels, func(pair string) bool {
			name, value, _ := strings.Cut(pair, "=")
			return k.Labels[name] != value
		}) {
			continue
		}
		if k.hidden > 0 {
			k.hidden--
			continue
		}
		if len(p.Things) == c.options.PageSize {
			p.Next = p.Things[len(p.Things)-1].ID
			return p, nil
		}
		p.Things = append(p.Things, k.copy())
		if err := c.settle(k); err != nil {
			return page{}, err
		}
	}
	return p, nil
}

// put makes a thing, or makes it like the request. Two at once make one thing.
func (c *Cloud) put(in call) *Error {
	kind, name, failed := identify(in.r)
	if failed != nil {
		return failed
	}
	var want Spec
	if failed := decode(in.r, &want); failed != nil {
		return failed
	}
	delay, failed := c.checkSpec(kind, want)
	if failed != nil {
		return failed
	}
	w := Write{By: in.token.Name, ID: kind + "/" + name, Owner: want.Labels[LabelOwner]}
	c.mu.Lock()
	w.Do, failed = c.due(w.ID, want)
	c.mu.Unlock()
	if failed != nil {
		return failed
	}
	if w.Do != "" {
		c.before(w)
	}
	c.mu.Lock()
	made, wrote, failed := c.make(kind, name, want, w)
	c.mu.Unlock()
	if failed != nil {
		return failed
	}
	if wrote {
		c.after(w)
		select {
		case <-time.After(delay):
		case <-in.r.Context().Done():
		}
	}
	c.addEndpoint(&made)
	status := http.StatusOK
	if w.Do == "create" {
		status = http.StatusCreated
	}
	answer(in.w, status, made)
	return nil
}

func (c *Cloud) before(w Write) {
	if c.options.Before != nil && !c.options.Before(w) {
		panic(http.ErrAbortHandler) // how net/http breaks a connection off
	}
}

func (c *Cloud) after(w Write) {
	if c.options.After != nil {
		c.options.After(w)
	}
}

// checkSpec says what is wrong with a request, and how long the answer is to take.
func (c *Cloud) checkSpec(kind string, want Spec) (time.Duration, *Error) {
	if !slices.Contains(c.options.Regions, want.Region) {
		return 0, failure(CodeInvalid, "there is no region %q: use one of %s", want.Region, strings.Join(c.options.Regions, ", "))
	}
	if kind == KindCluster && len(c.options.Kubeconfigs) > 0 {
		if name := want.Properties[PropertyControlPlane]; c.options.Kubeconfigs[name] == "" {
			return 0, failure(CodeInvalid, "there is no control plane %q: use one of %s",
				name, strings.Join(slices.Sorted(maps.Keys(c.options.Kubeconfigs)), ", "))
		}
	}
	switch fail := want.Properties[PropertyFail]; fail {
	case "":
	case "quota":
		return 0, failure(CodeQuota, "the account may have no more things of the kind %s: ask the cloud for more", kind)
	case "denied":
		return 0, failure(CodeDenied, "the token lacks the right to put: add it")
	case "unavailable":
		return 0, failure(CodeUnavailable, "503 Service Unavailable: the region is full")
	default:
		return 0, failure(CodeInvalid, "Invalid value for the property fail: %q", fail)
	}
	text := want.Properties[PropertyDelay]
	if text == "" {
		return 0, nil
	}
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 {
		return 0, failure(CodeInvalid, "the delay %q is no duration: use one such as 5s", text)
	}
	return delay, nil
}

// due is what a put would do: create, update, or nothing. It needs the lock.
func (c *Cloud) due(id string, want Spec) (string, *Error) {
	old := c.things[id]
	switch {
	case old == nil && c.faults.Quota > 0 && len(c.things) >= c.faults.Quota:
		return "", failure(CodeQuota, "the account may have no more than %d things: ask the cloud for more", c.faults.Quota)
	case old == nil:
		return "create", nil
	case old.Labels[LabelOwner] != want.Labels[LabelOwner]:
		return "", failure(CodeConflict, "%s already exists and belongs to something else: remove it or choose another name", id)
	case old.State == StateDeleting:
		return "", failure(CodeInUse, "%s is currently being deleted: wait until it is gone", id)
	case old.Region != want.Region:
		return "", failure(CodeInvalid, "%s is in the region %s and can't be moved: delete it first", id, old.Region)
	case same(old.Labels, want.Labels) && same(old.Properties, want.Properties):
		return "", nil
	}
	return "update", nil
}

func same(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// make carries a put out, which may no longer be what it was when the lock was let go. It needs the lock.
func (c *Cloud) make(kind, name string, want Spec, w Write) (Thing, bool, *Error) {
	do, failed := c.due(w.ID, want)
	if failed != nil {
		return Thing{}, false, failed
	}
	old := c.things[w.ID]
	if do == "" {
		return old.copy(), false, nil
	}
	k := &kept{Thing: Thing{ID: w.ID, Kind: kind, Name: name, Spec: want, State: StateAvailable, Version: 1}}
	if old != nil {
		k.State, k.Version, k.settling = old.State, old.Version+1, old.settling
	} else {
		k.hidden = c.faults.ListLag
	}
	if old == nil && kind == KindSnapshot {
		k.State, k.settling = StatePending, c.faults.Settle
		if c.faults.FailedSnapshots {
			k.State = StateFailed
		}
	}
	if err := c.save(k); err != nil {
		return Thing{}, false, internal(err)
	}
	w.Do = do
	if err := c.note(w); err != nil {
		return Thing{}, false, internal(err)
	}
	return k.copy(), true, nil
}

// remove begins to delete a thing.
func (c *Cloud) remove(in call) *Error {
	kind, name, failed := identify(in.r)
	if failed != nil {
		return failed
	}
	w := Write{By: in.token.Name, Do: "delete", ID: kind + "/" + name}
	c.mu.Lock()
	old, failed := c.removable(w.ID)
	if failed == nil {
		w.Owner = old.Labels[LabelOwner]
	}
	deleting := failed == nil && old.State == StateDeleting
	c.mu.Unlock()
	if failed != nil {
		return failed
	}
	if !deleting {
		c.before(w)
	}
	c.mu.Lock()
	wrote, failed := c.begin(w)
	c.mu.Unlock()
	if failed != nil {
		return failed
	}
	if wrote {
		c.after(w)
	}
	answer(in.w, http.StatusAccepted, json.RawMessage(`{}`))
	return nil
}

// removable is a thing that nothing else is in. It needs the lock.
func (c *Cloud) removable(id string) (*kept, *Error) {
	old := c.things[id]
	if old == nil {
		return nil, failure(CodeNotFound, "there is no %s", id)
	}
	if failed := c.reachOne(old.Kind, old.Region); failed != nil {
		return nil, failed
	}
	for _, other := range slices.Sorted(maps.Keys(c.things)) {
		if p := c.things[other].Properties; p[PropertyNetwork] == id || p[PropertyCluster] == id {
			return nil, failure(CodeInUse, "DependencyViolation: %s has dependencies: %s is in it and must be deleted first", id, other)
		}
	}
	return old, nil
}

// begin begins a deletion. It needs the lock.
func (c *Cloud) begin(w Write) (bool, *Error) {
	old, failed := c.removable(w.ID)
	if failed != nil || old.State == StateDeleting {
		return false, failed
	}
	k := *old
	k.State, k.settling = StateDeleting, c.faults.Settle
	err := c.save(&k)
	if err == nil && c.faults.Settle == 0 && !c.faults.Stalled {
		err = c.drop(w.ID)
	}
	if err == nil {
		err = c.note(w)
	}
	if err != nil {
		return false, internal(err)
	}
	return true, nil
}

// identify is which thing a request is about.
func identify(r *http.Request) (kind, name string, failed *Error) {
	kind, name = r.PathValue("kind"), r.PathValue("name")
	if !slices.Contains(Kinds(), kind) {
		return "", "", failure(CodeInvalid, "there is no kind %q: use one of %s", kind, strings.Join(Kinds(), ", "))
	}
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,98}[a-z0-9])?$`).MatchString(name) {
		return "", "", failure(CodeInvalid, "%q is no name: use at most 100 lowercase letters, digits and hyphens", name)
	}
	return kind, name, nil
}
