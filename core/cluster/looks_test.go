// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"testing"
	"time"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// TestWait is when a cluster is looked at again, give or take a fifth.
func TestWait(t *testing.T) {
	typed := func(kind provider.ErrorKind, after time.Duration, cause error) error {
		return &provider.Error{Kind: kind, After: after, Err: cause, Message: "x"}
	}
	cases := map[string]struct {
		reason   string
		err      error
		failures int
		want     time.Duration
	}{
		"direct, first":      {"it may be back at once", &connect.Error{Kind: connect.Timeout}, 0, 5 * time.Second},
		"direct, third":      {"the wait grows", &connect.Error{Kind: connect.Timeout}, 2, 20 * time.Second},
		"direct, hundredth":  {"the wait is bounded", &connect.Error{Kind: connect.Unauthorized}, 99, resync},
		"ours":               {"any other error is tried again like one of the network", errors.New("no file"), 1, 10 * time.Second},
		"unavailable":        {"backing off", typed(provider.Unavailable, 0, nil), 3, 40 * time.Second},
		"other":              {"backing off", typed(provider.Other, 0, nil), 0, 5 * time.Second},
		"conflict":           {"it passes by itself", typed(provider.Conflict, 0, nil), 7, 5 * time.Second},
		"denied":             {"somebody has to act", typed(provider.Denied, 0, nil), 0, resync},
		"unauthenticated":    {"somebody has to act", typed(provider.Unauthenticated, 0, nil), 0, resync},
		"quota":              {"somebody has to act", typed(provider.Quota, 0, nil), 0, resync},
		"invalid":            {"a change is seen at once, the outside on the next look", typed(provider.Invalid, 0, nil), 0, resync},
		"unsupported":        {"another version of the plugin is found on the next look", typed(provider.Unsupported, 0, nil), 0, resync},
		"throttled":          {"no sooner than the cloud asked for", typed(provider.Unavailable, 2*time.Minute, nil), 0, 150 * time.Second},
		"throttled shortly":  {"the longer of the two", typed(provider.Unavailable, time.Second, nil), 4, 80 * time.Second},
		"throttled for ever": {"a mistake in a plugin does not last", typed(provider.Quota, 10000*time.Hour, nil), 0, 75 * time.Minute},
		"plugin down":        {"the host answers at once", typed(provider.Unavailable, 0, pluginhost.ErrUnusable), 9, 30 * time.Second},
		"plugin breaks":      {"whatever kind the host says", typed(provider.Invalid, 0, pluginhost.ErrUnusable), 0, 5 * time.Second},
		"plugin restarts":    {"the host knows when it starts it again", typed(provider.Unavailable, time.Minute, pluginhost.ErrUnusable), 0, 75 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				got := finding{err: tc.err}.wait(tc.failures)
				if got < tc.want*4/5 || got > tc.want*6/5 {
					t.Fatalf("the wait is %s, want %s give or take a fifth: %s", got, tc.want, tc.reason)
				}
				var e *provider.Error
				if errors.As(tc.err, &e) && got < min(e.After, longestAfter) {
					t.Fatalf("the wait is %s, sooner than the plugin asked for", got)
				}
			}
		})
	}
}

func TestSoft(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"nothing":         {"it did not fail", nil, false},
		"timeout":         {"it may be slow just now", &connect.Error{Kind: connect.Timeout}, true},
		"other CA":        {"that stays", &connect.Error{Kind: connect.CertificateInvalid}, false},
		"unavailable":     {"it may be back soon", provider.Unavailablef(0, "x"), true},
		"conflict":        {"the other one ends", provider.Errorf(provider.Conflict, "x"), true},
		"unauthenticated": {"that stays", provider.Errorf(provider.Unauthenticated, "x"), false},
		"other":           {"the plugin crashed, which says nothing about the cluster", provider.Errorf(provider.Other, "x"), true},
		"no kind":         {"it counts as Other", &provider.Error{Kind: "Strange"}, true},
		"quota":           {"that stays", provider.Errorf(provider.Quota, "x"), false},
		"plugin breaks":   {"it is started again", &provider.Error{Kind: provider.Other, Err: pluginhost.ErrUnusable}, true},
	} {
		if got := (finding{err: tc.err}).soft(); got != tc.want {
			t.Errorf("%s: soft is %v, want %v: %s", name, got, tc.want, tc.reason)
		}
	}
}

func TestCloudOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		spec   v1alpha1.ClusterSpec
		status string
		want   string
	}{
		"nothing":           {"nobody has said it yet", v1alpha1.ClusterSpec{}, "", ""},
		"said":              {"a person knows best", v1alpha1.ClusterSpec{Provider: "aws"}, "gcp", "aws"},
		"told by nodes":     {"the nodes know", v1alpha1.ClusterSpec{}, "gcp", "gcp"},
		"template":          {"it is in the template's name", v1alpha1.ClusterSpec{Template: &v1alpha1.Template{Module: "linode/lke"}}, "", "linode"},
		"inCluster":         {"whatever cloud the nodes are of", v1alpha1.ClusterSpec{InCluster: true}, "gcp", "incluster"},
		"inCluster, said":   {"a person knows best", v1alpha1.ClusterSpec{InCluster: true, Provider: "aws"}, "", "aws"},
		"management":        {"the operator reaches its own cluster by itself", v1alpha1.ClusterSpec{Type: v1alpha1.Management}, "aws", ""},
		"management, named": {"whatever it is said to be", v1alpha1.ClusterSpec{Type: v1alpha1.Management, Provider: "aws"}, "", ""},
	} {
		c := &v1alpha1.Cluster{Spec: tc.spec, Status: v1alpha1.ClusterStatus{Provider: tc.status}}
		if got := cloudOf(c); got != tc.want {
			t.Errorf("%s: the provider is %q, want %q: %s", name, got, tc.want, tc.reason)
		}
	}
}
