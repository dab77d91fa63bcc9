// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"darkshift.io/infrared/sdk/provider"
)

// The texts of answers. They end up in statuses, records, logs and on terminals, so none is longer than these bytes, and none has
// characters that can't be seen. What is meant for people is cut and cleaned. By an ID something is found again, so half of one
// would be another thing: there the answer is refused. No message quotes what is refused.
const (
	longestText  = 1 << 10
	longestError = 4 << 10
	// longestTraits bounds all traits of an identity together, in bytes. They are shown to nobody.
	longestTraits = 256 << 10
	// mostNotLooked is how many parts that could not be looked at are kept of one answer.
	mostNotLooked = 100
)

// prose is a text for people within so many bytes: what can't be seen is a blank, and what is too long ends with an ellipsis.
func prose(text string, most int) string {
	const ellipsis = "…"
	if len(text) > most {
		end := most - len(ellipsis)
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + ellipsis
	}
	if visible(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// visible says that a text is UTF-8, of characters that can be seen, and blanks.
func visible(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// named is a text and what it is.
type named struct{ what, text string }

// fit refuses texts by which something is found again.
func fit(ids ...named) error {
	for _, id := range ids {
		switch {
		case len(id.text) > longestText:
			return fmt.Errorf("%s is longer than %d bytes", id.what, longestText)
		case !visible(id.text):
			return fmt.Errorf("%s has characters that can't be seen", id.what)
		}
	}
	return nil
}

// fitResource cleans a resource's texts, in place.
func fitResource(r *provider.Resource) error {
	r.Name, r.Why = prose(r.Name, longestText), prose(r.Why, longestText)
	return fit(
		named{"a resource's kind", r.Kind}, named{"a resource's ID", r.ID}, named{"a resource's location", r.Location},
		named{"a resource's account", r.Account}, named{"a resource's proof", string(r.Proof)},
		named{"a resource's role", string(r.Role)}, named{"a resource's console URL", r.ConsoleURL},
	)
}

// fitFindings cleans the texts of all lists, in place. A look that missed more than is kept still is one that missed something.
func fitFindings(f *provider.Findings) error {
	for _, list := range [][]provider.Finding{f.Present, f.Absent, f.Unknown, f.Backups} {
		for i := range list {
			list[i].Why, list[i].State = prose(list[i].Why, longestText), prose(list[i].State, longestText)
			if err := fitResource(&list[i].Resource); err != nil {
				return err
			}
		}
	}
	f.NotLooked = tidied(f.NotLooked)
	return nil
}

// tidied cleans what could not be looked at, in place, and says how much of it is left out.
func tidied(parts []provider.NotLooked) []provider.NotLooked {
	if more := len(parts) - (mostNotLooked - 1); more > 1 {
		parts = append(parts[:mostNotLooked-1:mostNotLooked-1], provider.NotLooked{
			What: fmt.Sprintf("%d more parts", more), Why: "the plugin names more than are kept",
		})
	}
	for i, part := range parts {
		parts[i] = provider.NotLooked{
			What: prose(part.What, longestText), Where: prose(part.Where, longestText), Why: prose(part.Why, longestText),
		}
	}
	return parts
}

// fitError is a plugin's own error with its texts cleaned; the same one where there is nothing to clean.
func fitError(err error) error {
	var e *provider.Error
	if !errors.As(err, &e) {
		return err
	}
	clean := *e
	clean.Message, clean.Field = prose(e.Message, longestError), prose(e.Field, longestText)
	if clean.Message == e.Message && clean.Field == e.Field {
		return err
	}
	return &clean
}
