// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// How much of a run stands in a Cluster's status.
const (
	mostEvents     = 20
	mostChanges    = 50
	mostLeft       = 50
	longestMessage = 4096
	longestLine    = 512
)

// cut shortens a text to so many bytes, and never within a character.
func cut(text string, longest int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= longest {
		return text
	}
	const more = "…"
	end := longest - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// events are the newest lines of a run's progress, oldest first.
func events(progress run.Progress) []v1alpha1.RunEvent {
	newest := progress.Events[max(0, len(progress.Events)-mostEvents):]
	var lines []v1alpha1.RunEvent
	for _, e := range newest {
		lines = append(lines, v1alpha1.RunEvent{At: seconds(e.At), Kind: cut(string(e.Kind), longestLine), Message: cut(e.Message, longestLine)})
	}
	return lines
}

// seconds is a time as a status keeps it, so that one that was written and read compares equal.
func seconds(at time.Time) metav1.Time { return metav1.NewTime(at.Truncate(time.Second)) }

// counts counts changes by what they do.
func counts(changes []provider.Change) v1alpha1.ChangeCounts {
	var c v1alpha1.ChangeCounts
	for _, change := range changes {
		switch change.Operation {
		case provider.OperationCreate:
			c.Create++
		case provider.OperationUpdate:
			c.Update++
		case provider.OperationReplace:
			c.Replace++
		case provider.OperationDelete:
			c.Delete++
		case provider.OperationRead:
		}
	}
	return c
}

// shownChanges are the first changes, those that destroy something before all others.
func shownChanges(changes []provider.Change) []v1alpha1.ResourceChange {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b provider.Change) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Address, b.Address))
	})
	var shown []v1alpha1.ResourceChange
	for _, change := range sorted[:min(len(sorted), mostChanges)] {
		shown = append(shown, v1alpha1.ResourceChange{
			Address: cut(change.Address, longestLine), Operation: string(change.Operation), Why: cut(change.Why, longestLine),
		})
	}
	return shown
}

func rank(change provider.Change) int {
	if change.Operation.Destructive() {
		return 0
	}
	return 1
}

// shownLeft are the first of the things that a run has left behind.
func shownLeft(resources []provider.Resource) []v1alpha1.Leftover {
	var left []v1alpha1.Leftover
	for _, r := range resources[:min(len(resources), mostLeft)] {
		l := v1alpha1.Leftover{
			Kind: cut(r.Kind, longestLine), ID: cut(r.ID, longestLine), Name: cut(r.Name, longestLine), Where: cut(r.Location, longestLine),
			Account: cut(r.Account, longestLine), Why: cut(r.Why, longestLine), Link: cut(r.ConsoleURL, longestLine),
		}
		if r.Hourly != nil {
			l.HourlyUSD = r.Hourly.String()
		}
		left = append(left, l)
	}
	return left
}

// inWords says what changes come to, with the verbs of what is to be done or of what was.
func inWords(c v1alpha1.ChangeCounts, create, update, replace, remove string) string {
	var parts []string
	for _, part := range []struct {
		verb  string
		count int32
	}{{create, c.Create}, {update, c.Update}, {replace, c.Replace}, {remove, c.Delete}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", part.verb, part.count))
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// annotate is the command by which a person sets an annotation.
func annotate(c *v1alpha1.Cluster, annotation, value string) string {
	return fmt.Sprintf("kubectl annotate cluster %s %s=%s --overwrite", c.Name, annotation, value)
}

// raise is the command by which a person asks for another run without any other change.
func raise(c *v1alpha1.Cluster) string {
	return fmt.Sprintf(`kubectl patch cluster %s --type=merge -p '{"spec":{"provision":{"run":%d}}}'`, c.Name, provision(c).Run+1)
}

// inSpec is the field of a Cluster that a field of a plugin's request comes from.
func inSpec(field string) string {
	switch {
	case field == "source", field == "image", field == "variables", strings.HasPrefix(field, "variables."):
		return "spec.provision." + field
	case field == "version":
		return "spec.template.version"
	}
	return field
}
