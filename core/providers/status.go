// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

// How much of what a plugin says of itself goes into a status. A plugin is not to fill the API server's store.
const (
	mostItems    = 100
	longestText  = 128
	longestWords = 1024
)

// verdict is what the condition Healthy is to say of the plugin.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
	// keep says that the condition stays as it is, unless there is none yet.
	keep bool
}

// begin takes note of the generation. A Provider that was refused its cloud and has another program now may be for another cloud.
func (s *scope) begin() {
	healthy := s.healthy()
	if s.Status.ObservedGeneration != s.Generation && healthy != nil && healthy.Reason == v1alpha1.ReasonNameTaken {
		s.forgetFacts()
	}
	s.Status.ObservedGeneration = s.Generation
}

// hear takes over what the host says of the plugin. users are the Clusters that use it for the cloud that it was for so far.
func (s *scope) hear(state pluginhost.State, users []string) {
	s.verdict = verdict{status: metav1.ConditionFalse, reason: state.Reason, message: sentence(state.Message, s.Spec.Binary)}
	is, was := state.Description.Facts.Name, s.Status.Provider
	elsewhere := is != "" && was != "" && is != was && len(users) > 0
	if is != "" && !elsewhere {
		s.learn(state)
	}
	switch {
	case state.Healthy && elsewhere:
		// What is not healthy may be another program by now, and says itself what is wrong.
		s.verdict.reason, s.verdict.message = v1alpha1.ReasonProviderChanged, changed(is, was, users)
	case state.Healthy:
		s.verdict.status = metav1.ConditionTrue
	case state.Reason == pluginhost.ReasonStopped:
		s.verdict.keep = true // the operator is on its way out, which tells nothing about the plugin
		return
	case state.Reason == pluginhost.ReasonStarting:
		// After a restart of the operator every plugin is started anew; what was true before most likely is true again.
		s.verdict.status, s.verdict.keep = metav1.ConditionUnknown, s.current()
		if s.verdict.keep {
			return
		}
	}
	s.Status.PID = int32(state.PID) //nolint:gosec // a process ID has 22 bits
}

// changed says that a program for another cloud has come in the place of one that is in use.
func changed(is, was string, users []string) string {
	return fmt.Sprintf("The plugin is for provider %s now, and Clusters still use it for %s: %s. It gets none of their calls. "+
		"Put the program for %s back in spec.binary and spec.sha256, or delete these Clusters first.", is, was, inWords(users), was)
}

// current says that the condition is about the program that the Provider names now.
func (s *scope) current() bool {
	healthy := s.healthy()
	return healthy != nil && healthy.ObservedGeneration == s.Generation && healthy.Reason != v1alpha1.ReasonNameTaken
}

// learn takes over what the plugin said of itself.
func (s *scope) learn(state pluginhost.State) {
	facts := state.Description.Facts
	protocol := s.Status.Protocol
	s.forgetFacts()
	s.Status.Protocol = protocol
	if state.Protocol != 0 {
		s.Status.Protocol = int32(state.Protocol) //nolint:gosec // versions are counted from 1
	}
	s.Status.Provider = limit(facts.Name, longestText)
	s.Status.Version = shown(facts.Version)
	for _, c := range first(state.Description.Capabilities) {
		s.Status.Capabilities = append(s.Status.Capabilities, shown(string(c)))
	}
	for _, t := range first(facts.Templates) {
		s.Status.Templates = append(s.Status.Templates, v1alpha1.ProviderTemplate{Name: shown(t.Name), Title: shown(t.Title)})
	}
	for _, prefix := range first(facts.NodePrefixes) {
		// An empty prefix would claim every node there is, and a cut one others' nodes.
		if prefix != "" && len(prefix) <= longestText {
			s.Status.NodePrefixes = append(s.Status.NodePrefixes, prefix)
		}
	}
}

func (s *scope) forgetFacts() {
	s.Status.Provider, s.Status.Version, s.Status.Protocol = "", "", 0
	s.Status.Capabilities, s.Status.Templates, s.Status.NodePrefixes = nil, nil, nil
}

// taken says that an older Provider is for the same cloud.
func (s *scope) taken(owner string) {
	s.Status.PID = 0
	s.verdict = verdict{status: metav1.ConditionFalse, reason: v1alpha1.ReasonNameTaken, message: fmt.Sprintf(
		"Provider %s is for %s, too, and older, so this one's plugin does not run. Delete one of the two, or have spec.binary name a plugin for another cloud.", owner, s.Status.Provider)}
}

// stopped says of a Provider that is being deleted, and that somebody else keeps, that its plugin runs no longer.
func (s *scope) stopped() {
	s.Status.ObservedGeneration, s.Status.PID, s.Status.UsedBy = s.Generation, 0, &v1alpha1.ProviderUse{}
	s.set(metav1.ConditionFalse, v1alpha1.ReasonStopped, limit(fmt.Sprintf(
		"It is being deleted, and its plugin was stopped. It goes once those who put these finalizers there have taken them off: %s.",
		strings.Join(slices.Sorted(slices.Values(s.Finalizers)), ", ")), longestWords))
}

// finish writes the condition, once it is known who uses the plugin.
func (s *scope) finish(users []string) {
	s.Status.UsedBy = &v1alpha1.ProviderUse{Count: int32(len(users)), Clusters: users[:min(len(users), mostNames)]} //nolint:gosec // etcd holds fewer
	v := s.verdict
	switch {
	case v.reason == "":
		return // the host is closing
	case !s.DeletionTimestamp.IsZero() && len(users) > 0:
		s.set(v.status, v1alpha1.ReasonInUse, fmt.Sprintf(
			"It is being deleted, and goes once no Cluster uses it any more; %s. The plugin: %s", inWords(users), v.message))
	case v.keep && s.healthy() != nil:
	default:
		s.set(v.status, v.reason, v.message)
	}
}

// first are as many items as go into a status.
func first[T provider.Capability | provider.Template | string](items []T) []T {
	return items[:min(len(items), mostItems)]
}

// shown is a text that a plugin says of itself, short and without what can't be seen.
func shown(text string) string { return limit(visible(text), longestText) }

// visible has blanks where a text has characters that can't be seen.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// sentence makes one line of a message: it begins with a capital letter, unless that is the program's name, and ends.
func sentence(message, program string) string {
	message = limit(strings.Join(strings.Fields(visible(strings.ToValidUTF8(message, "?"))), " "), longestWords)
	if message == "" {
		return ""
	}
	if r, size := utf8.DecodeRuneInString(message); !strings.HasPrefix(message, program+" ") {
		message = string(unicode.ToUpper(r)) + message[size:]
	}
	if strings.ContainsAny(message[len(message)-1:], ".!?") {
		return message
	}
	return message + "."
}
