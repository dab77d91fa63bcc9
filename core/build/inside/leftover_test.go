// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// setLedger is what the ledger says before a run.
func (c *cluster) setLedger(l run.Ledger) {
	c.t.Helper()
	packed, err := run.Pack(l)
	must(c.t, 0, err)
	object, err := management.client.CoreV1().ConfigMaps(namespace).Get(c.t.Context(), c.names.Ledger(), metav1.GetOptions{})
	must(c.t, 0, err)
	object.BinaryData = map[string][]byte{run.KeyLedger: packed}
	_, err = management.client.CoreV1().ConfigMaps(namespace).Update(c.t.Context(), object, metav1.UpdateOptions{})
	must(c.t, 0, err)
}

// What was left behind stays listed until somebody has looked, however many runs come and go.
func TestLeftBehindStays(t *testing.T) {
	c := newCluster(t, small)
	c.ok(c.order(provider.ActionApply))
	l := c.ledger()
	l.LeftBehind, l.Unsettled = []provider.Resource{{Kind: "disk", ID: "i-old"}}, true
	c.setLedger(l)
	there := filepath.Join(c.outside, "i-old")
	must(t, 0, os.WriteFile(there, nil, 0o600))
	stays := func(step string, outcome run.Outcome, unsettled bool) {
		t.Helper()
		l := c.ledger()
		for _, list := range [][]provider.Resource{outcome.LeftBehind, l.LeftBehind} {
			if diff := cmp.Diff([]string{"i-old"}, ids(list)); diff != "" || l.Unsettled != unsettled {
				t.Errorf("%s: left behind, unsettled %v (-want +got):\n%s", step, l.Unsettled, diff)
			}
		}
	}
	c.secret("CLOUD_PROJECT", filepath.Join(c.outside, "nowhere"))
	stays("a look that failed", c.ok(c.order(provider.ActionApply)), true)
	c.secret("CLOUD_PROJECT", c.outside)
	c.secret("SAYS_PROJECT", "Quota the account is full")
	stays("a run that saw nothing", c.fails(c.order(provider.ActionApply), v1alpha1.ReasonQuotaExceeded), true)
	must(t, 0, os.Remove(filepath.Join(c.credentials, "SAYS_PROJECT")))
	stays("a look that finds it", c.ok(c.order(provider.ActionPlan)), false)
	stays("another", c.ok(c.order(provider.ActionApply)), false)
	must(t, 0, os.Remove(there))
	if gone := c.ok(c.order(provider.ActionApply)); len(gone.LeftBehind) > 0 || len(c.ledger().LeftBehind) > 0 {
		t.Errorf("a look that no longer finds it leaves %v", ids(gone.LeftBehind))
	}
}

// What is left behind is put together from all that is known.
func TestAccount(t *testing.T) {
	list := func(names string) (all []provider.Resource) {
		for name := range strings.FieldsSeq(names) {
			all = append(all, provider.Resource{ID: name})
		}
		return all
	}
	for name, test := range map[string]struct {
		reason                     string
		before, made, state, build string
		look                       sight
		want                       string
	}{
		"no look":      {"what was listed stays", "a b", "", "", "", sight{}, "a b"},
		"in the state": {"what is in the state is not left", "a b", "", "a", "", sight{}, "b"},
		"built":        {"what Build says comes once", "a b", "", "", "b c", sight{}, "a b c"},
		"not found":    {"a whole look that does not find it", "a b", "", "", "", sight{whole: true, there: list("b")}, "b"},
		"half a look":  {"what nobody could see may be there", "a b", "", "", "", sight{there: list("b")}, "a b"},
		"gone":         {"its own API says so, against Build and in half a look", "a b", "", "", "c d", sight{gone: map[string]bool{"a": true, "c": true}}, "b d"},
		"stray":        {"what nobody has accounted for", "", "m", "s", "", sight{whole: true, there: list("m s x")}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{ledger: &ledger{current: run.Ledger{LeftBehind: list(test.before), Made: list(test.made)}}}
			s.found.resources = list(test.state)
			outcome := run.Outcome{LeftBehind: list(test.build)}
			s.account(&outcome, test.look)
			if diff := cmp.Diff(strings.Fields(test.want), ids(outcome.LeftBehind)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// How a run ended says whether somebody has to look for what it left.
func TestUnsettled(t *testing.T) {
	failed := func(reason string) run.Outcome { return run.Outcome{Failure: &run.Failure{Reason: reason}} }
	seen := sight{whole: true}
	for name, test := range map[string]struct {
		reason  string
		found   answers
		before  bool
		order   run.Order
		look    sight
		outcome run.Outcome
		want    bool
	}{
		"succeeded":   {"all is told", answers{acted: true}, false, run.Order{}, sight{}, run.Outcome{}, false},
		"busy":        {"the cloud said no in order", answers{acted: true}, false, run.Order{}, sight{}, failed(v1alpha1.ReasonBusy), false},
		"tofu killed": {"it could not tell", answers{acted: true}, false, run.Order{}, sight{}, failed(v1alpha1.ReasonProviderFailed), true},
		"plugin died": {"it could not tell", answers{acted: true}, false, run.Order{}, sight{}, failed(v1alpha1.ReasonProviderUnavailable), true},
		"cloud away":  {"an answer may have been lost", answers{acted: true}, false, run.Order{}, sight{}, failed(v1alpha1.ReasonCloudUnavailable), true},
		"interrupted": {"it was cut short", answers{acted: true}, false, run.Order{}, seen, failed(v1alpha1.ReasonInterrupted), true},
		"no plugin":   {"nothing was begun", answers{}, false, run.Order{}, sight{}, failed(v1alpha1.ReasonProviderUnavailable), false},
		"not looked":  {"nobody has looked since", answers{acted: true}, true, run.Order{}, sight{}, run.Outcome{}, true},
		"lost":        {"the operator says that one was lost", answers{}, false, run.Order{Interrupted: true}, sight{}, run.Outcome{}, true},
		"looked":      {"a look settles it", answers{}, true, run.Order{Interrupted: true}, seen, run.Outcome{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{found: test.found, order: test.order, before: run.Ledger{Unsettled: test.before}}
			if got := s.unsettled(test.outcome, test.look); got != test.want {
				t.Errorf("unsettled %v, want %v: %s", got, test.want, test.reason)
			}
		})
	}
}

// A destroy goes by the order of what is there, not by the newest that anybody has given.
func TestOrderOfWhatIsThere(t *testing.T) {
	c := newCluster(t, small)
	names := func(step, want string) {
		t.Helper()
		order := c.ledger().Order
		if order == nil || string(order.Variables["names"]) != want {
			t.Errorf("%s: the ledger has the order %+v, want that of names %s", step, order, want)
		}
	}
	c.fails(c.order(provider.ActionApply, with("nmes", 1)), v1alpha1.ReasonInvalidSpec)
	if order := c.ledger().Order; order != nil {
		t.Errorf("an apply that made nothing is what a destroy goes by: %+v", order)
	}
	c.ok(c.order(provider.ActionApply, with("names", []string{"a"})))
	names("applied", `["a"]`)
	c.fails(c.order(provider.ActionApply, with("names", []string{"b"})), v1alpha1.ReasonApprovalNeeded)
	names("not approved", `["a"]`)
	c.ok(c.order(provider.ActionPlan, with("names", []string{"a", "p"})))
	names("planned", `["a"]`)
	c.write(small+says("DependencyViolation"), `{"type":"object","properties":{"names":{},"size":{}}}`)
	c.fails(c.order(provider.ActionApply, with("names", []string{"a", "c"})), v1alpha1.ReasonBusy)
	names("begun", `["a","c"]`)
	c.ok(c.order(provider.ActionDestroy, with("names", []string{"d"})))
	names("destroyed", `["a","c"]`)
}
