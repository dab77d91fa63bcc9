// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

func TestSentence(t *testing.T) {
	for want, message := range map[string]string{
		"It runs and answers.":    "it runs and answers",
		"It said \"a b\".":        "it said\n\t\"a b\"",
		"It is [31m red.":         "it is \x1b[31m red",
		"Nothing?":                "nothing?",
		"Es läuft.":               "es läuft.",
		"Über.":                   "über",
		"?.":                      "\xff.",
		"":                        "",
		"Abc….":                   "abc…",
		"eks exited with code 1.": "eks exited with code 1",
	} {
		if got := sentence(message, "eks"); got != want {
			t.Errorf("%q becomes %q, want %q", message, got, want)
		}
	}
	if got := sentence(strings.Repeat("ä", 5000), "eks"); len([]rune(got)) > longestWords+1 {
		t.Errorf("a message of %d runes", len([]rune(got)))
	}
}

// facts are what a plugin for aws says of itself.
func facts() provider.Description {
	return provider.Description{
		Facts: provider.Facts{
			Name: "aws", Version: "v0.14.0", NodePrefixes: []string{"aws://", ""},
			Templates: []provider.Template{{Name: "aws/eks-cluster", Title: "AWS · EKS"}},
		},
		Capabilities: []provider.Capability{provider.CapabilityAccounts},
	}
}

// learned is the status after such a plugin was healthy with PID 7.
func learned() v1alpha1.ProviderStatus {
	return v1alpha1.ProviderStatus{
		ObservedGeneration: 1, Provider: "aws", Version: "v0.14.0", Protocol: 1, PID: 7, Capabilities: []string{"Accounts"},
		Templates: []v1alpha1.ProviderTemplate{{Name: "aws/eks-cluster", Title: "AWS · EKS"}}, NodePrefixes: []string{"aws://"},
		UsedBy: &v1alpha1.ProviderUse{},
	}
}

func healthyNow() pluginhost.State {
	return pluginhost.State{Reason: "Healthy", Message: "it runs and answers", Healthy: true, PID: 7, Protocol: 1, Description: facts()}
}

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Healthy", Status: status, Reason: reason, Message: message, ObservedGeneration: 1}
}

// TestHear is what a Provider says for each state of its plugin.
func TestHear(t *testing.T) {
	down := func() v1alpha1.ProviderStatus {
		s := learned()
		s.PID = 0
		return s
	}
	good := condition(metav1.ConditionTrue, "Healthy", "It runs and answers.")
	cases := map[string]struct {
		reason   string
		before   v1alpha1.ProviderStatus
		state    pluginhost.State
		deleting bool
		users    []string
		want     v1alpha1.ProviderStatus
		with     metav1.Condition
	}{
		"first start": {
			reason: "nothing is known yet", state: pluginhost.State{Reason: "Starting", Message: "it is being started"},
			want: v1alpha1.ProviderStatus{ObservedGeneration: 1, UsedBy: &v1alpha1.ProviderUse{}},
			with: condition(metav1.ConditionUnknown, "Starting", "It is being started."),
		},
		"healthy": {reason: "it told about itself", state: healthyNow(), want: learned(), with: good},
		"attached": {
			reason: "healthy too", state: func() pluginhost.State {
				s := healthyNow()
				s.Reason = "Attached"
				return s
			}(),
			want: learned(), with: condition(metav1.ConditionTrue, "Attached", "It runs and answers."),
		},
		"started by another operator": {
			reason: "it was well and most likely is again: nothing flaps", before: withCondition(learned(), good),
			state: pluginhost.State{Reason: "Starting", Message: "it is being started"}, want: learned(), with: good,
		},
		"another program starts": {
			reason: "what was true of the other program is not true of this one", before: withCondition(learned(), otherGeneration(good)),
			state: pluginhost.State{Reason: "Starting", Message: "it is being started", Description: facts()},
			want:  down(), with: condition(metav1.ConditionUnknown, "Starting", "It is being started."),
		},
		"crashed": {
			reason: "what it is for stays known", before: withCondition(learned(), good),
			state: pluginhost.State{Reason: "Crashed", Message: "it was killed by signal 9", Description: facts()},
			want:  down(), with: condition(metav1.ConditionFalse, "Crashed", "It was killed by signal 9."),
		},
		"the operator ends": {
			reason: "that tells nothing about the plugin", before: withCondition(learned(), good),
			state: pluginhost.State{Reason: "Stopped", Message: "Infrared is shutting down"}, want: learned(), with: good,
		},
		"status lost": {
			reason: "what the host knows is enough, also while the plugin is down",
			state:  pluginhost.State{Reason: "Crashed", Message: "it was killed by signal 9", Protocol: 1, Description: facts()},
			want:   down(), with: condition(metav1.ConditionFalse, "Crashed", "It was killed by signal 9."),
		},
		"another cloud, in use": {
			reason: "the Clusters keep their plugin's place", before: withCondition(learned(), otherGeneration(good)), state: elsewhere(),
			users: []string{"a", "b"}, want: inUse(learned()),
			with: condition(metav1.ConditionFalse, "ProviderChanged", "The plugin is for provider gcp now, and Clusters still use it for aws: a, b do. "+
				"It gets none of their calls. Put the program for aws back in spec.binary and spec.sha256, or delete these Clusters first."),
		},
		"another cloud, in use, put back wrongly": {
			reason: "what is wrong with the program that is named now is what matters", before: withCondition(learned(), otherGeneration(good)),
			state: func() pluginhost.State {
				s := elsewhere()
				s.Reason, s.Message, s.Healthy, s.PID = "ChecksumMismatch", "it is another file", false, 0
				return s
			}(),
			users: []string{"a", "b"}, want: inUse(down()), with: condition(metav1.ConditionFalse, "ChecksumMismatch", "It is another file."),
		},
		"another cloud, in use by nobody": {
			reason: "it may be for whatever it likes", before: withCondition(learned(), otherGeneration(good)), state: elsewhere(),
			want: func() v1alpha1.ProviderStatus {
				s := learned()
				s.Provider = "gcp"
				return s
			}(),
			with: good,
		},
		"deleted while in use": {
			reason: "who keeps it, and how it fares", state: healthyNow(), deleting: true, users: []string{"a", "b"},
			want: inUse(learned()),
			with: condition(metav1.ConditionTrue, "InUse",
				"It is being deleted, and goes once no Cluster uses it any more; a, b do. The plugin: It runs and answers."),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "eks", Generation: 1}, Status: tc.before}
			if tc.deleting {
				now := metav1.Now()
				p.DeletionTimestamp = &now
			}
			s := newScope(p)
			s.begin()
			s.hear(tc.state, tc.users)
			s.finish(tc.users)
			want := withCondition(tc.want, tc.with)
			if diff := cmp.Diff(want, s.Status, cmpopts.IgnoreTypes(metav1.Time{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// elsewhere is a healthy plugin that is for gcp, and else says what the one for aws says.
func elsewhere() pluginhost.State {
	s := healthyNow()
	s.Description.Facts.Name = "gcp"
	return s
}

func inUse(s v1alpha1.ProviderStatus) v1alpha1.ProviderStatus {
	s.UsedBy = &v1alpha1.ProviderUse{Count: 2, Clusters: []string{"a", "b"}}
	return s
}

func withCondition(s v1alpha1.ProviderStatus, c metav1.Condition) v1alpha1.ProviderStatus {
	s.Conditions = []metav1.Condition{c}
	return s
}

func otherGeneration(c metav1.Condition) metav1.Condition {
	c.ObservedGeneration = 0
	return c
}

// TestBoasting is that a plugin can't fill the store with what it says of itself.
func TestBoasting(t *testing.T) {
	state := healthyNow()
	state.Description.Facts.Name = strings.Repeat("n", 100_000)
	state.Description.Facts.Version = strings.Repeat("v\x1b", 100_000)
	state.Description.Facts.Templates = []provider.Template{{Name: strings.Repeat("n", 100_000)}}
	state.Description.Facts.NodePrefixes = []string{strings.Repeat("x", 100_000), "toy://"}
	for i := range 10_000 {
		state.Description.Facts.Templates = append(state.Description.Facts.Templates,
			provider.Template{Name: fmt.Sprint("aws/t", i), Title: strings.Repeat("ä", 10_000)})
	}
	s := newScope(&v1alpha1.Provider{})
	s.hear(state, nil)
	if size := len(fmt.Sprint(s.Status)); size > 100_000 {
		t.Errorf("the status has %d bytes", size)
	}
	if strings.Contains(s.Status.Version, "\x1b") {
		t.Errorf("the version is %q", s.Status.Version)
	}
	if diff := cmp.Diff([]string{"toy://"}, s.Status.NodePrefixes); diff != "" {
		t.Errorf("a prefix that was cut would claim others' nodes (-want +got):\n%s", diff)
	}
}
