// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// pair is a type here and its message on the wire.
type pair struct {
	goType  reflect.Type
	message protoreflect.MessageDescriptor
	// toWire and fromWire convert a value of goType, and a message.
	toWire   func(any) proto.Message
	fromWire func(proto.Message) any
	// empty is a new message, absent a nil one.
	empty  func() proto.Message
	absent proto.Message
}

func pairOf[G any, M any, P interface {
	*M
	proto.Message
}](toWire func(G) P, fromWire func(P) G) pair {
	return pair{
		goType:   reflect.TypeFor[G](),
		message:  P(nil).ProtoReflect().Descriptor(),
		toWire:   func(v any) proto.Message { return toWire(v.(G)) },
		fromWire: func(m proto.Message) any { return fromWire(m.(P)) },
		empty:    func() proto.Message { return P(new(M)) },
		absent:   P(nil),
	}
}

// mint is Mint's two arguments, which are one message on the wire.
type mint struct {
	Account provider.Account
	Request provider.MintRequest
}

// pairs are all conversions that the package offers, by name.
func pairs() map[string]pair {
	return map[string]pair{
		"Description":     pairOf(convert.DescriptionToWire, convert.DescriptionFromWire),
		"ConnectRequest":  pairOf(convert.ConnectRequestToWire, convert.ConnectRequestFromWire),
		"Connection":      pairOf(convert.ConnectionToWire, convert.ConnectionFromWire),
		"BuildRequest":    pairOf(convert.BuildRequestToWire, convert.BuildRequestFromWire),
		"Event":           pairOf(convert.EventToWire, convert.EventFromWire),
		"SnapshotRequest": pairOf(convert.SnapshotRequestToWire, convert.SnapshotRequestFromWire),
		"Snapshots":       pairOf(convert.SnapshotsToWire, convert.SnapshotsFromWire),
		"ConfirmRequest":  pairOf(convert.ConfirmRequestToWire, convert.ConfirmRequestFromWire),
		"SweepRequest":    pairOf(convert.SweepRequestToWire, convert.SweepRequestFromWire),
		"Findings":        pairOf(convert.FindingsToWire, convert.FindingsFromWire),
		"Account":         pairOf(convert.AccountToWire, convert.AccountFromWire),
		"Identity":        pairOf(convert.IdentityToWire, convert.IdentityFromWire),
		"Credentials":     pairOf(convert.CredentialsToWire, convert.CredentialsFromWire),
		"MintRequest": pairOf(
			func(v mint) *pb.MintRequest { return convert.MintRequestToWire(v.Account, v.Request) },
			func(m *pb.MintRequest) mint {
				account, request := convert.MintRequestFromWire(m)
				return mint{account, request}
			}),
		"BuildResult": pairOf(
			func(v provider.BuildResult) *pb.BuildResult { return convert.BuildEndToWire(v, nil).GetResult() },
			func(m *pb.BuildResult) provider.BuildResult {
				result, err := convert.BuildEndFromWire(&pb.BuildEnd{Result: m})
				if err != nil {
					panic(err)
				}
				return result
			}),
	}
}

// prefixes compares addresses, which keep theirs private.
var prefixes = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

// trip sends v over the wire and back.
func (p pair) trip(t testing.TB, v any) any {
	t.Helper()
	data, err := proto.Marshal(p.toWire(v))
	if err != nil {
		t.Fatalf("the message can't be written: %v", err)
	}
	m := p.empty()
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatalf("the message can't be read: %v", err)
	}
	return p.fromWire(m)
}

// A forgotten field is one that conversion leaves empty on the wire, or that does not come back.
func TestNoFieldIsForgotten(t *testing.T) {
	known := constants(t)
	for name, p := range pairs() {
		t.Run(name, func(t *testing.T) {
			v := newGenerator(known, 1, true).value(p.goType)
			if empty := emptyFields(p.toWire(v).ProtoReflect()); len(empty) > 0 {
				t.Errorf("with every field set, these stay empty on the wire: %s", strings.Join(empty, ", "))
			}
			if diff := cmp.Diff(v, p.trip(t, v), prefixes); diff != "" {
				t.Errorf("what went out did not come back (-out +back):\n%s", diff)
			}
		})
	}
}

// emptyFields lists the fields that are not set in m and the messages in it.
func emptyFields(m protoreflect.Message) []string {
	var empty []string
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case strings.HasPrefix(string(m.Descriptor().FullName()), "google.protobuf."):
			// A time of exactly no nanoseconds is a whole one.
		case !m.Has(field):
			empty = append(empty, string(field.FullName()))
		case field.IsMap():
			m.Get(field).Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				if field.MapValue().Message() != nil {
					empty = append(empty, emptyFields(v.Message())...)
				}
				return true
			})
		case field.IsList() && field.Message() != nil:
			for j := range m.Get(field).List().Len() {
				empty = append(empty, emptyFields(m.Get(field).List().Get(j).Message())...)
			}
		case field.Message() != nil:
			empty = append(empty, emptyFields(m.Get(field).Message())...)
		}
	}
	slices.Sort(empty)
	return slices.Compact(empty)
}

// Every type that the interface mentions crosses the wire, and every message of the protocol is one of these.
func TestNoTypeIsForgotten(t *testing.T) {
	converted, onWire := map[reflect.Type]bool{}, map[protoreflect.FullName]bool{}
	for _, p := range pairs() {
		reach(p.goType, converted)
		reachMessage(p.message, onWire)
	}
	mentioned := map[reflect.Type]bool{}
	for _, face := range []reflect.Type{
		reflect.TypeFor[provider.Provider](), reflect.TypeFor[provider.Accounts](), reflect.TypeFor[provider.Reporter](),
	} {
		for i := range face.NumMethod() {
			method := face.Method(i).Type
			for j := range method.NumIn() {
				reach(method.In(j), mentioned)
			}
			for j := range method.NumOut() {
				reach(method.Out(j), mentioned)
			}
		}
	}
	for of := range mentioned {
		if !converted[of] {
			t.Errorf("%s is part of the interface, and no conversion is tested for it: add it to pairs", of)
		}
	}
	messages := pb.File_v1_provider_proto.Messages()
	for i := range messages.Len() {
		name := messages.Get(i).FullName()
		if !onWire[name] && !slices.Contains(envelopes(), name.Name()) {
			t.Errorf("the message %s carries no type of package provider: convert it, or list it among the envelopes", name)
		}
	}
}

// envelopes are the messages that only wrap one that is converted, or carry errors, which have tests of their own.
func envelopes() []protoreflect.Name {
	return []protoreflect.Name{
		"DescribeRequest", "ConnectResponse", "BuildResponse", "BuildEnd", "ConfirmResponse", "SweepResponse",
		"VerifyRequest", "VerifyResponse", "MintResponse", "StopRequest", "StopResponse", "Error",
	}
}

// reach adds the provider's structs that of is made of.
func reach(of reflect.Type, seen map[reflect.Type]bool) {
	switch of.Kind() {
	default:
	case reflect.Pointer, reflect.Slice, reflect.Map:
		reach(of.Elem(), seen)
	case reflect.Struct:
		if seen[of] || of.PkgPath() != reflect.TypeFor[provider.Resource]().PkgPath() && of != reflect.TypeFor[mint]() {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			reach(of.Field(i).Type, seen)
		}
	}
}

func reachMessage(of protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
	if seen[of.FullName()] {
		return
	}
	seen[of.FullName()] = true
	for i := range of.Fields().Len() {
		if inner := of.Fields().Get(i).Message(); inner != nil {
			reachMessage(inner, seen)
		}
	}
}

// Every constant has a value on the wire, and there are no more of these.
func TestNoConstantIsForgotten(t *testing.T) {
	known := constants(t)
	enums := pb.File_v1_provider_proto.Enums()
	for i := range enums.Len() {
		name := string(enums.Get(i).Name())
		if here, wire := len(known[name]), enums.Get(i).Values().Len()-1; here != wire {
			t.Errorf("%s has %d constants in package provider and %d values on the wire, besides the unspecified", name, here, wire)
		}
	}
	for name, p := range pairs() {
		for seed := range uint64(20) {
			v := newGenerator(known, seed, true).value(p.goType)
			if diff := cmp.Diff(v, p.trip(t, v), prefixes); diff != "" {
				t.Fatalf("%s with seed %d (-out +back):\n%s", name, seed, diff)
			}
		}
	}
}

// A stranger's message may lack anything.
func TestNothingGivesZeroValues(t *testing.T) {
	for name, p := range pairs() {
		for what, m := range map[string]proto.Message{"an absent message": p.absent, "an empty message": p.empty()} {
			if got := p.fromWire(m); !cmp.Equal(got, reflect.Zero(p.goType).Interface()) {
				t.Errorf("%s: %s gives %s, want the zero value", name, what, fmt.Sprintf("%+v", got))
			}
		}
	}
}

// What the protocol promises of its largest message.
func TestFortyThousandResourcesFit(t *testing.T) {
	cost := 22_500 * provider.USD(1)
	found := make([]provider.Finding, 40_000)
	for i := range found {
		found[i] = provider.Finding{Why: "DescribeLoadBalancers lists it", State: "active", Resource: provider.Resource{
			Kind: "load-balancer", Name: fmt.Sprintf("k8s-shop-checkout-%010d", i), Location: "us-east-1", Account: "123456789012",
			ID:    fmt.Sprintf("arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/k8s-shop-checkout-%010d/50dc6c495c0c9188", i),
			Proof: provider.ProofLabel, Why: "tag infrared-cluster-uid", Hourly: &cost,
		}}
	}
	size := proto.Size(convert.FindingsToWire(provider.Findings{Present: found}))
	if size > pb.MaxMessageBytes {
		t.Errorf("40,000 load balancers are %d bytes, more than the %d of a message", size, pb.MaxMessageBytes)
	}
	t.Logf("40,000 load balancers are %.1f MiB", float64(size)/(1<<20))
}

func FuzzRoundTrip(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, []byte{0x0a, 0x03, 0x0a, 0x01, 'x'})
	}
	known := constants(f)
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		for name, p := range pairs() {
			v := newGenerator(known, seed, false).value(p.goType)
			if diff := cmp.Diff(v, p.trip(t, v), prefixes); diff != "" {
				t.Errorf("%s: what went out did not come back (-out +back):\n%s", name, diff)
			}
			// What a stranger sends is read without a panic, and what was read can be sent on.
			m := p.empty()
			if proto.Unmarshal(data, m) != nil {
				continue
			}
			once := p.fromWire(m)
			if diff := cmp.Diff(once, p.trip(t, once), prefixes); diff != "" {
				t.Errorf("%s: what was read does not stay the same (-once +twice):\n%s", name, diff)
			}
		}
	})
}
