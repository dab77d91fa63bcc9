// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// What a host reads when a build fails: the kind decides what it does next, and the words are a person's way out.
func TestErrors(t *testing.T) {
	type variables = map[string]any
	for name, c := range map[string]struct {
		reason    string
		faults    httpcloud.Faults
		token     string
		variables variables
		kind      provider.ErrorKind
		field     string
		words     string
		made      []string // kinds that are in the cloud afterwards
	}{
		"wrong token": {
			reason: "nothing is begun with credentials that are no good", token: "S3CR3T-of-nobody", kind: provider.Unauthenticated,
			words: "does not know the token",
		},
		"expired token": {
			reason: "a person has to make a new one", faults: httpcloud.Faults{Expired: true}, kind: provider.Unauthenticated, words: "has expired",
		},
		"no right": {
			reason: "the token may look and nothing else", token: readToken, kind: provider.Denied, words: "lacks the right to put",
		},
		"no right for kind": {
			reason: "a role may lack one kind of thing", variables: variables{"fail": "denied"}, kind: provider.Denied, words: "lacks the right to put",
			made: []string{"cluster", "network"},
		},
		"quota": {
			reason: "the account has no more", faults: httpcloud.Faults{Quota: 1}, kind: provider.Quota, words: "no more than 1 things", made: []string{"network"},
		},
		"quota of a kind": {
			reason: "the same for one thing", variables: variables{"fail": "quota"}, kind: provider.Quota, words: "no more things of the kind node-group",
			made: []string{"cluster", "network"},
		},
		"throttled": {
			reason: "a throttle passes", faults: httpcloud.Faults{Throttle: -1, RetryAfter: 7}, kind: provider.Unavailable, words: "fewer calls",
		},
		"down": {
			reason: "the cloud is away, which says nothing about what is in it", faults: httpcloud.Faults{Down: true}, kind: provider.Unavailable, words: "down",
		},
		"unknown region": {
			reason: "only the cloud knows its regions", variables: variables{"region": "mars-1"}, kind: provider.Invalid, field: "template",
			words: `no region "mars-1"`,
		},
		"bad variable": {
			reason: "the schema is checked before anything is run", variables: variables{"node_count": "many"}, kind: provider.Invalid, field: "variables.node_count",
			words: "a whole number",
		},
		"unknown variable": {
			reason: "and so are the names", variables: variables{"node_cuont": 3}, kind: provider.Invalid, field: "variables.node_cuont", words: "did you mean node_count",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if err := w.cloud.Set(c.faults); err != nil {
				t.Fatal(err)
			}
			req := w.request(provider.ActionApply, c.variables)
			if c.token != "" {
				req.Credentials = w.credentials(c.token)
			}
			_, _, err := w.build(t, req)
			var e *provider.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Field != c.field || !strings.Contains(e.Message, c.words) {
				t.Errorf("got %s, field %q: %v, want %s, field %q, with %q: %s", provider.KindOf(err), e.Field, err, c.kind, c.field, c.words, c.reason)
			}
			if c.faults.RetryAfter > 0 && e.After != time.Duration(c.faults.RetryAfter)*time.Second {
				t.Errorf("the host may call again after %s, want %d s", e.After, c.faults.RetryAfter)
			}
			if diff := cmp.Diff(c.made, w.kinds()); diff != "" {
				t.Errorf("in the cloud (-want +got):\n%s", diff)
			}
			// Nothing of it stands in the way of the next run.
			if err := w.cloud.Set(httpcloud.Faults{}); err != nil {
				t.Fatal(err)
			}
			w.must(t, provider.ActionDestroy, nil)
			if len(w.in()) > 0 {
				t.Errorf("a destroy leaves %v", w.kinds())
			}
		})
	}
}

// A throttle that passes and a request that is lost on its way are none of the host's business.
func TestTroublePasses(t *testing.T) {
	var w *world
	n := 0
	w = newWorld(t, func(o *httpcloud.Options) {
		o.Before = func(httpcloud.Write) bool {
			if n++; n == 2 {
				_ = w.cloud.Set(httpcloud.Faults{Throttle: 2})
			}
			return n > 1
		}
	})
	w.must(t, provider.ActionApply, nil)
	if got := w.kinds(); len(got) != 3 {
		t.Errorf("in the cloud are %v", got)
	}
}

// A cloud whose lists lag, and whose deletions take a while.
func TestSlowCloud(t *testing.T) {
	w := newWorld(t)
	if err := w.cloud.Set(httpcloud.Faults{ListLag: 3, Settle: 3, EmptyPages: true}); err != nil {
		t.Fatal(err)
	}
	w.must(t, provider.ActionApply, nil)
	w.must(t, provider.ActionApply, map[string]any{"region": "us-west-2"})
	result := w.must(t, provider.ActionDestroy, map[string]any{"region": "us-west-2"})
	if len(w.in()) > 0 || len(result.LeftBehind) > 0 {
		t.Errorf("left are %v; the result says %v", w.in(), result.LeftBehind)
	}
}

// The state is gone for good. The ledger brings it back; without one, names and labels still tell what is ours.
func TestLostState(t *testing.T) {
	w := newWorld(t)
	_, seen, err := w.build(t, w.request(provider.ActionApply, nil))
	if err != nil {
		t.Fatal(err)
	}
	lose := func() {
		t.Helper()
		if err := os.Remove(w.fake.localState); err != nil {
			t.Fatal(err)
		}
	}
	before := w.writes()
	lose()
	req := w.request(provider.ActionApply, nil)
	req.Ledger = ledger(seen.all)
	result, _, err := w.build(t, req)
	if err != nil || len(result.Resources) != 3 || len(result.LeftBehind) > 0 || !slices.Equal(before, w.writes()) {
		t.Errorf("with the ledger: %v, resources %v, left behind %v, wrote %v", err, result.Resources, result.LeftBehind, w.writes()[len(before):])
	}
	for _, change := range result.Changes {
		if change.Operation.Destructive() {
			t.Errorf("with the ledger: %+v", change)
		}
	}
	lose()
	if result := w.must(t, provider.ActionApply, nil); len(result.Resources) != 3 || !slices.Equal(before, w.writes()) {
		t.Errorf("without a ledger: resources %v, wrote %v", result.Resources, w.writes()[len(before):])
	}
	lose()
	gone := w.must(t, provider.ActionDestroy, nil)
	if len(gone.LeftBehind) != 3 || len(w.in()) != 3 {
		t.Errorf("a destroy that knows of nothing leaves %d things and lists %+v, want all three left and listed", len(w.in()), gone.LeftBehind)
	}
	req = w.request(provider.ActionDestroy, nil)
	req.Ledger = ledger(seen.all)
	if _, _, err := w.build(t, req); err != nil || len(w.in()) > 0 {
		t.Errorf("a destroy by the ledger: %v, and left are %v", err, w.kinds())
	}
}

// Imported things do not know their region. The cloud does.
func TestLostStateMoved(t *testing.T) {
	w := newWorld(t)
	_, seen, err := w.build(t, w.request(provider.ActionApply, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.fake.localState); err != nil {
		t.Fatal(err)
	}
	req := w.request(provider.ActionPlan, map[string]any{"region": "us-east-1"})
	req.Ledger = ledger(seen.all)
	result, _, err := w.build(t, req)
	if err != nil || operations(result.Changes)["terraform_data.cluster"] != provider.OperationReplace || result.Changes[0].Why != "because of region" {
		t.Errorf("%v: planned %+v", err, result.Changes)
	}
}

// What controllers of the cluster made is in no state. A destroy lists it, and takes none of it away.
func TestLeftBehind(t *testing.T) {
	w := newWorld(t)
	w.must(t, provider.ActionApply, nil)
	for name, of := range map[string]provider.Cluster{"ours": w.cluster, "another": {Name: w.cluster.Name, Incarnation: "77d1f2a0"}} {
		if _, err := w.cloud.Add(httpcloud.KindDisk, name, httpcloud.Spec{Region: "fake-2", Labels: labels(of)}); err != nil {
			t.Fatal(err)
		}
	}
	result := w.must(t, provider.ActionDestroy, nil)
	if len(result.LeftBehind) != 1 || result.LeftBehind[0].ID != "disk/ours" || result.LeftBehind[0].Proof != provider.ProofLabel {
		t.Errorf("left behind: %+v", result.LeftBehind)
	}
	if diff := cmp.Diff([]string{"disk", "disk"}, w.kinds()); diff != "" {
		t.Errorf("in the cloud (-want +got):\n%s", diff)
	}
}

// Variables arrive as they are, and so do the labels.
func TestVariables(t *testing.T) {
	w := newWorld(t)
	note := "a=b ${x} %{y} \"q\" \\ '\nnew 'line' $HOME `id`"
	result := w.must(t, provider.ActionApply, map[string]any{
		"node_count": 3, "spot": true, "cidrs": []string{"198.51.100.7/32", "b"}, "tags": map[string]string{"k": "a=b", "n": "x,y"}, "note": note, "name": "other",
	})
	var got struct {
		Name  string            `json:"name"`
		Count int               `json:"node_count"`
		Spot  bool              `json:"spot"`
		CIDRs []string          `json:"cidrs"`
		Tags  map[string]string `json:"tags"`
		Note  string            `json:"note"`
	}
	if err := json.Unmarshal(result.Outputs["received"], &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "other" || got.Count != 3 || !got.Spot || got.Note != note || len(got.CIDRs) != 2 || got.Tags["k"] != "a=b" {
		t.Errorf("the module received %+v", got)
	}
	cluster := w.in()[clusterID(w.cluster)]
	if cluster.Properties["note"] != note || cluster.Labels["n"] != "x,y" || cluster.Labels[labelCluster] != w.cluster.Name || cluster.Labels[labelIncarnation] != incarnation {
		t.Errorf("the cloud has %+v", cluster)
	}
}

func TestRegionOfTheCluster(t *testing.T) {
	w := newWorld(t)
	w.cluster.Region = "us-west-2"
	w.must(t, provider.ActionApply, nil)
	for id, thing := range w.in() {
		if thing.Region != "us-west-2" {
			t.Errorf("%s is in %s", id, thing.Region)
		}
	}
}

// A state and a plan as large as those of a large cluster.
func TestFiller(t *testing.T) {
	w := newWorld(t)
	w.must(t, provider.ActionApply, map[string]any{"filler": 512})
	info, err := os.Stat(w.fake.localState)
	if err != nil {
		t.Fatal(err)
	}
	if size := info.Size() >> 10; size < 512 || size > 1024 {
		t.Errorf("the state has %d KiB, want 512 and a little more", size)
	}
}
