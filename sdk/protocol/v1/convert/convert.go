// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert turns the types of sdk/provider into the messages of the wire and back. Host and plugin both use it,
// through the SDK, and nobody else.
//
// What comes over the wire comes from a stranger. So a missing message gives zero values, a value of an enumeration that
// this side does not know gives the empty one, and nothing panics. Whether what came makes sense is for the caller to ask.
// On the way out, texts that are not UTF-8 are mended, because gRPC would refuse the whole message for one byte.
//
// Lists and maps that are empty come back nil. Secrets stay in [provider.Secret] on this side; on the wire they are in clear.
package convert

import (
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"darkshift.io/infrared/sdk/provider"
)

// text mends what is not UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func same(s string) string { return s }

// list converts every element; nothing gives nil.
func list[A, B any](in []A, one func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, 0, len(in))
	for _, a := range in {
		out = append(out, one(a))
	}
	return out
}

// values converts a map's values; nothing gives nil.
func values[A, B any](in map[string]A, one func(A) B) map[string]B {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]B, len(in))
	for key, a := range in {
		out[text(key)] = one(a)
	}
	return out
}

// pointer converts what is pointed at; nil stays nil.
func pointer[A, B any](in *A, one func(A) B) *B {
	if in == nil {
		return nil
	}
	out := one(*in)
	return &out
}

// message converts what is pointed at to a message; nil stays nil.
func message[A, M any](in *A, one func(A) *M) *M {
	if in == nil {
		return nil
	}
	return one(*in)
}

// maybe converts a message that need not be there.
func maybe[M, A any](in *M, one func(*M) A) *A {
	if in == nil {
		return nil
	}
	out := one(in)
	return &out
}

func bytesOrNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func rawToWire(r json.RawMessage) []byte { return r }

func rawFromWire(b []byte) json.RawMessage { return bytesOrNil(b) }

func secretToWire(s provider.Secret) []byte { return bytesOrNil([]byte(s.Reveal())) }

func secretFromWire(b []byte) provider.Secret { return provider.NewSecret(string(b)) }

func usdToWire(u provider.USD) int64 { return int64(u) }

func usdFromWire(u int64) provider.USD { return provider.USD(u) }

// prefixesFromWire leaves out what is no prefix: less may be dialled then, never more.
func prefixesFromWire(in []string) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range in {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			out = append(out, prefix)
		}
	}
	return out
}

func timeToWire(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timeFromWire(t *timestamppb.Timestamp) time.Time {
	// One outside the years 1 to 9999 is nobody's honest answer, and would not go into JSON later.
	if t == nil || t.CheckValid() != nil {
		return time.Time{}
	}
	return t.AsTime()
}

func durationToWire(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func durationFromWire(d *durationpb.Duration) time.Duration { return d.AsDuration() }

// optionalUSD reads a field that may be absent, which the getter would show as 0: a thing of unknown price is not free.
func optionalUSD[M any](m *M, field func(*M) *int64) *provider.USD {
	if m == nil {
		return nil
	}
	return pointer(field(m), usdFromWire)
}
