// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"testing"
)

func TestPanicWords(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		panics func()
		want   string
	}{
		"text":  {reason: "it may quote a token", panics: func() { panic("S3CR3T") }, want: "a value of type string, which is not printed because it may hold a secret"},
		"error": {reason: "so may an error", panics: func() { panic(errors.New("S3CR3T")) }, want: "a value of type *errors.errorString, which is not printed because it may hold a secret"},
		"index": {reason: "the runtime says what is wrong and quotes nothing", panics: func() { _ = make([]int, 2)[len(t.Name())] }, want: "runtime error: index out of range [14] with length 2"},
	} {
		func() {
			defer func() {
				if got := panicWords(recover()); got != c.want {
					t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
				}
			}()
			c.panics()
		}()
	}
}
