// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/internal/testplugin"
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// BenchmarkVerb compares a verb through the host with the bare call by go-plugin: the same binary, over a unix socket and mutual TLS
// both times. The two take turns, so that whatever slows the machine down slows both. The metric is the ratio of their medians; the aim
// is 1.25 at most.
func BenchmarkVerb(b *testing.B) {
	f := newFixture(b, pluginhost.Options{})
	hosted, _ := f.healthy(b, "good")
	bare := bareClient(b, f.folder)
	request := provider.ConnectRequest{
		Cluster:  provider.Cluster{Name: "edge", Incarnation: "0e6f4bbc-0e7c-4b0c-9d9a-7b4e2b1a0c11"},
		Endpoint: &provider.Endpoint{Server: "https://edge:6443", CA: make([]byte, 1200), Token: provider.NewSecret("S3CR3T")},
	}
	wire := &pb.ConnectRequest{
		Cluster:  &pb.Cluster{Name: "edge", Incarnation: request.Cluster.Incarnation},
		Endpoint: &pb.Endpoint{Server: "https://edge:6443", Ca: make([]byte, 1200), Token: []byte("S3CR3T")},
	}
	var throughHost, byItself []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := hosted.Connect(b.Context(), request); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		if _, err := bare.Connect(b.Context(), wire); err != nil {
			b.Fatal(err)
		}
		throughHost, byItself = append(throughHost, between.Sub(began)), append(byItself, time.Since(between))
	}
	b.ReportMetric(0, "ns/op") // times of this machine say nothing
	b.ReportMetric(float64(median(throughHost))/float64(median(byItself)), "x-bare-p50")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// bareClient starts the test plugin by go-plugin as it comes.
func bareClient(b *testing.B, folder testplugin.Folder) pb.ProviderServiceClient {
	b.Helper()
	path, _ := folder.Add(b, "bare")
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: "INFRARED_PLUGIN", MagicCookieValue: "provider.infrared.darkshift.io"},
		VersionedPlugins: map[int]goplugin.PluginSet{1: {}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Cmd:              exec.Command(path),
		AutoMTLS:         true,
		Logger:           hclog.NewNullLogger(),
	})
	b.Cleanup(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		b.Fatal(err)
	}
	grpcClient, ok := protocol.(*goplugin.GRPCClient)
	if !ok {
		b.Fatalf("go-plugin speaks %T, want gRPC", protocol)
	}
	return pb.NewProviderServiceClient(grpcClient.Conn)
}
