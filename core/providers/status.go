// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
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

// hear takes over what the host says of the plugin.
func (s *scope) hear(state pluginhost.State) {
	s.verdict = verdict{status: metav1.ConditionFalse, reason: state.Reason, message: sentence(state.Message, s.Spec.Binary)}
	switch {
	case state.Healthy:
		s.verdict.status = metav1.ConditionTrue
		s.learn(state)
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

// current says that the condition is about the program that the Provider names now.
func (s *scope) current() bool {
	healthy := s.healthy()
	return healthy != nil && healthy.ObservedGeneration == s.Generation && healthy.Reason != v1alpha1.ReasonNameTaken
}

// learn takes over what the plugin said of itself.
func (s *scope) learn(state pluginhost.State) {
	facts := state.Description.Facts
	s.forgetFacts()
	s.Status.Protocol = int32(state.Protocol) //nolint:gosec // versions are counted from 1
	s.Status.Provider = facts.Name
	s.Status.Version = limit(facts.Version, longestText)
	for _, c := range first(state.Description.Capabilities) {
		s.Status.Capabilities = append(s.Status.Capabilities, limit(string(c), longestText))
	}
	for _, t := range first(facts.Templates) {
		s.Status.Templates = append(s.Status.Templates, v1alpha1.ProviderTemplate{Name: t.Name, Title: limit(t.Title, longestText)})
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
		"Provider %s is for %s, too, and older, so this one's plugin does not run. Delete one of the two.", owner, s.Status.Provider)}
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

// sentence makes one line of a message: it begins with a capital letter, unless that is the program's name, and ends.
func sentence(message, program string) string {
	message = limit(strings.Join(strings.Fields(strings.ToValidUTF8(message, "?")), " "), longestWords)
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
