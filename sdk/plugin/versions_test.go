// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"darkshift.io/infrared/sdk/plugin"
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// newer is the protocol as a later release may have it: each message, and each enumeration, with something added.
type newer struct {
	t    *testing.T
	file protoreflect.FileDescriptor
}

func newerProtocol(t *testing.T) newer {
	t.Helper()
	file := protodesc.ToFileDescriptorProto(pb.File_v1_provider_proto)
	for _, m := range file.GetMessageType() {
		m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{
			Name: proto.String("added"), Number: proto.Int32(900),
			Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		})
	}
	for _, e := range file.GetEnumType() {
		e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: proto.String(e.GetName() + "_ADDED"), Number: proto.Int32(900)})
	}
	built, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return newer{t: t, file: built}
}

// message makes a message of the newer protocol from JSON.
func (n newer) message(name, text string) *dynamicpb.Message {
	n.t.Helper()
	m := dynamicpb.NewMessage(n.file.Messages().ByName(protoreflect.Name(name)))
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		n.t.Fatal(err)
	}
	return m
}

const service = "/infrared.provider.v1.ProviderService/"

func TestNewerHostMeetsThisPlugin(t *testing.T) {
	n, got := newerProtocol(t), make(chan provider.SweepRequest, 1)
	w := overWire(t, &scripted{
		sweep: func(_ context.Context, req provider.SweepRequest) (provider.Findings, error) {
			got <- req
			return provider.Findings{Present: []provider.Finding{{Why: "listed"}}}, nil
		},
		build: func(_ context.Context, req provider.BuildRequest, _ provider.Reporter) (provider.BuildResult, error) {
			return provider.BuildResult{}, provider.Invalidf("action", "%q is no action", req.Action)
		},
	})
	ask := n.message("SweepRequest", `{"cluster":{"name":"edge","added":"x"},"added":"y","recorded":[{"id":"vol-1","proof":"Proof_ADDED","added":"z"}]}`)
	answer := n.message("SweepResponse", `{}`)
	if err := w.conn.Invoke(t.Context(), service+"Sweep", ask, answer); err != nil {
		t.Fatalf("fields that this plugin does not know fail the call: %v", err)
	}
	want := provider.SweepRequest{Cluster: provider.Cluster{Name: "edge"}, Recorded: []provider.Resource{{ID: "vol-1"}}}
	if diff := cmp.Diff(want, eventually(t, "the call", got)); diff != "" {
		t.Errorf("what the author got (-want +got):\n%s", diff)
	}
	wantAnswer := &pb.SweepResponse{Findings: &pb.Findings{Present: []*pb.Finding{{Resource: &pb.Resource{}, Why: "listed"}}}}
	if diff := cmp.Diff(wantAnswer, known[pb.SweepResponse](t, answer), protocmp.Transform()); diff != "" {
		t.Errorf("what the newer host got (-want +got):\n%s", diff)
	}
	if err := w.conn.Invoke(t.Context(), service+"Added", ask, answer); status.Code(err) != codes.Unimplemented {
		t.Errorf("a call that this plugin does not know: %v, want Unimplemented", err)
	}
	_, err := w.provider().Build(t.Context(), provider.BuildRequest{Action: "added"}, nil)
	if e := typed(t, err); e.Kind != provider.Invalid || e.Field != "action" {
		t.Errorf("an action that this plugin does not know reaches the author as none: %v", err)
	}
}

// known is what this side's code knows of a newer message.
func known[M any, P interface {
	*M
	proto.Message
}](t *testing.T, m proto.Message) P {
	t.Helper()
	var plain P = new(M)
	text, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(text, plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestNewerPluginMeetsThisHost(t *testing.T) {
	n := newerProtocol(t)
	answers := map[string][]*dynamicpb.Message{
		service + "Describe": {n.message("DescribeResponse",
			`{"facts":{"name":"scripted","version":"v9","added":"x"},"capabilities":["Capability_ADDED","CAPABILITY_ACCOUNTS"],"added":"y"}`)},
		service + "Sweep": {n.message("SweepResponse",
			`{"findings":{"present":[{"why":"listed","added":"x","resource":{"id":"vol-1","role":"Role_ADDED"}}],"added":"y"},"added":"z"}`)},
		service + "Build": {
			n.message("BuildResponse", `{"added":"a step of another kind"}`),
			n.message("BuildResponse", `{"event":{"kind":"EventKind_ADDED","message":"made","added":"x"}}`),
			n.message("BuildResponse", `{"end":{"result":{"planDigest":"d","added":"x"},"error":{"kind":"ErrorKind_ADDED","message":"so it is"}}}`),
		},
	}
	conn := answerWith(t, answers)
	d, err := plugin.Describe(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	want := provider.Description{
		Facts:        provider.Facts{Name: "scripted", Version: "v9"},
		Capabilities: []provider.Capability{provider.CapabilityAccounts},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("a capability that this host does not know is left out (-want +got):\n%s", diff)
	}
	client := plugin.NewClient(conn, d.Capabilities)
	found, err := client.Sweep(t.Context(), provider.SweepRequest{})
	if err != nil {
		t.Fatal(err)
	}
	wantFound := provider.Findings{Present: []provider.Finding{{Why: "listed", Resource: provider.Resource{ID: "vol-1"}}}}
	if diff := cmp.Diff(wantFound, found); diff != "" {
		t.Errorf("what this host got (-want +got):\n%s", diff)
	}
	told := &events{}
	result, err := client.Build(t.Context(), provider.BuildRequest{}, told)
	if e := typed(t, err); e.Kind != provider.Other || e.Message != "so it is" {
		t.Errorf("an error of a kind that this host does not know: %s: %s", e.Kind, e.Message)
	}
	if result.PlanDigest != "d" {
		t.Errorf("the result is lost: %v", result)
	}
	if diff := cmp.Diff([]provider.Event{{Message: "made"}}, told.all); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	// An older plugin lacks a call: that is Unsupported, in words.
	_, err = client.Connect(t.Context(), provider.ConnectRequest{})
	if e := typed(t, err); e.Kind != provider.Unsupported || e.Message != "the plugin does not know this call; it may be older than Infrared" {
		t.Errorf("a call that the plugin does not know: %s: %s", e.Kind, e.Message)
	}
}

// answerWith is a connection to a plugin that answers each method with these messages, and knows no others.
func answerWith(t *testing.T, answers map[string][]*dynamicpb.Message) *grpc.ClientConn {
	t.Helper()
	g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.Method(stream.Context())
		steps, ok := answers[method]
		if !ok {
			return status.Error(codes.Unimplemented, "unknown method")
		}
		if err := stream.RecvMsg(&pb.DescribeRequest{}); err != nil {
			return err
		}
		for _, m := range steps {
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		}
		return nil
	}))
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Serve(listener) }()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		g.Stop()
		if err := <-ended; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return conn
}
