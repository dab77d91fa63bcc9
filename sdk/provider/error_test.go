// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

func TestKindsTable(t *testing.T) {
	rows := provider.Kinds()
	if len(rows) != 8 {
		t.Errorf("there are %d kinds of error, want eight and no more", len(rows))
	}
	reason, label := regexp.MustCompile(`^[A-Z][A-Za-z]+$`), regexp.MustCompile(`^[a-z]+$`)
	seen := map[string]string{}
	for _, row := range rows {
		for what, value := range map[string]string{
			"kind": string(row.Kind), "code": fmt.Sprint(row.Code), "reason": row.Reason, "label": row.Label,
		} {
			if before, ok := seen[what+value]; ok {
				t.Errorf("%s and %s share the %s %q: nobody could tell them apart", before, row.Kind, what, value)
			}
			seen[what+value] = string(row.Kind)
		}
		if !reason.MatchString(row.Reason) || !label.MatchString(row.Label) || row.Retry == "" || row.Code == 0 || row.Code > 16 {
			t.Errorf("the row of %s is not whole: %+v", row.Kind, row)
		}
		if got := row.Kind.Row(); got != row {
			t.Errorf("%s.Row() = %+v, want %+v", row.Kind, got, row)
		}
	}
	for _, unknown := range []provider.ErrorKind{"", "Throttled"} {
		if got := unknown.Row().Kind; got != provider.Other {
			t.Errorf("a kind %q that does not exist has the row of %q, want that of Other", unknown, got)
		}
	}
}

func TestErrors(t *testing.T) {
	denied := provider.Errorf(provider.Denied, "listing disks: %w", io.ErrUnexpectedEOF)
	for name, c := range map[string]struct {
		reason string
		err    error
		kind   provider.ErrorKind
		text   string
		is     []error
		isNot  []error
	}{
		"a kind with a cause": {
			reason: "both the kind and the cause can be asked for",
			err:    denied, kind: provider.Denied, text: "listing disks: unexpected EOF",
			is: []error{provider.Denied, io.ErrUnexpectedEOF}, isNot: []error{provider.Quota, io.EOF},
		},
		"wrapped once more": {
			reason: "whoever wraps an error keeps its kind",
			err:    fmt.Errorf("sweeping %q: %w", "edge", denied), kind: provider.Denied, text: `sweeping "edge": listing disks: unexpected EOF`,
			is: []error{provider.Denied, io.ErrUnexpectedEOF},
		},
		"two causes": {
			reason: "several %w are several causes",
			err:    provider.Errorf(provider.Other, "%w and %w", io.EOF, io.ErrNoProgress), kind: provider.Other,
			text: "EOF and multiple Read calls return no data or error", is: []error{io.EOF, io.ErrNoProgress},
		},
		"a kind within another": {
			reason: "the outermost kind is what the author decided",
			err:    provider.Errorf(provider.Unavailable, "asking again: %w", denied), kind: provider.Unavailable,
			text: "asking again: listing disks: unexpected EOF", is: []error{provider.Unavailable},
		},
		"invalid": {
			reason: "the field comes first, so that the person sees what to change",
			err:    provider.Invalidf("variables.region", "there is no region %q", "mars-1"), kind: provider.Invalid,
			text: `variables.region: there is no region "mars-1"`, is: []error{provider.Invalid},
		},
		"a bare kind": {
			reason: "a kind is an error, if a poor one",
			err:    provider.Unsupported, kind: provider.Unsupported, text: "Unsupported", is: []error{provider.Unsupported},
		},
		"no message": {
			reason: "an empty text helps nobody",
			err:    &provider.Error{Kind: provider.Quota}, kind: provider.Quota, text: "Quota", is: []error{provider.Quota},
		},
		"a kind that is none of the eight": {
			reason: "the host has no row for it",
			err:    provider.Errorf("Throttled", "slow down"), kind: provider.Other, text: "slow down",
		},
		"a call that was cut": {
			reason: "nothing is known about the cloud then",
			err:    fmt.Errorf("connecting: %w", context.DeadlineExceeded), kind: provider.Unavailable,
			text: "connecting: context deadline exceeded", is: []error{context.DeadlineExceeded},
		},
		"anything": {
			reason: "an error that says no kind is Other",
			err:    io.EOF, kind: provider.Other, text: "EOF", isNot: []error{provider.Other},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := provider.KindOf(c.err); got != c.kind {
				t.Errorf("KindOf = %q, want %q: %s", got, c.kind, c.reason)
			}
			if got := c.err.Error(); got != c.text {
				t.Errorf("it says %q, want %q: %s", got, c.text, c.reason)
			}
			for _, target := range c.is {
				if !errors.Is(c.err, target) {
					t.Errorf("it is not %v: %s", target, c.reason)
				}
			}
			for _, target := range c.isNot {
				if errors.Is(c.err, target) {
					t.Errorf("it is %v: %s", target, c.reason)
				}
			}
		})
	}
	if got := provider.KindOf(nil); got != "" {
		t.Errorf("no error has the kind %q", got)
	}
}

func TestErrorCarriesFieldAndWait(t *testing.T) {
	var e *provider.Error
	if err := fmt.Errorf("applying: %w", provider.Invalidf("name", "too long")); !errors.As(err, &e) || e.Field != "name" {
		t.Errorf("%v: the field is %+v, want name", err, e)
	}
	err := provider.Unavailablef(90*time.Second, "the cloud throttles this account")
	if !errors.As(err, &e) || e.After != 90*time.Second || !errors.Is(err, provider.Unavailable) {
		t.Errorf("%v: the wait is %+v, want 90 s", err, e)
	}
	if diff := cmp.Diff("the cloud throttles this account", err.Error()); diff != "" {
		t.Errorf("the wait changes from call to call, so it is not in the text (-want +got):\n%s", diff)
	}
}
