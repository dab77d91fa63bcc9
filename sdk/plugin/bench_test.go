// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"darkshift.io/infrared/internal/testplugin"
	"darkshift.io/infrared/sdk/plugin"
)

// BenchmarkLaunch says how many times longer a launch takes that is pinned, mutually authenticated and checked than go-plugin's
// with none of that, of the same binary. The two take turns, so that a busy machine slows both.
func BenchmarkLaunch(b *testing.B) {
	path, sum := testplugin.Build(b).Add(b, "good")
	l := plugin.Launch{Path: path, SHA256: sum, Sums: &plugin.Sums{}, SocketFolder: socketBase(b)}
	// A file that was changed within the clock's coarsest tick is hashed each time, and in a plugin folder none is that young.
	<-time.After(3 * time.Second)
	var ours, plain []time.Duration
	for b.Loop() {
		begun := time.Now()
		p, err := plugin.Dial(b.Context(), l)
		ours = append(ours, time.Since(begun))
		must(b, err)
		p.Kill()

		client := goplugin.NewClient(&goplugin.ClientConfig{
			HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: plugin.MagicCookieKey, MagicCookieValue: plugin.MagicCookieValue},
			VersionedPlugins: map[int]goplugin.PluginSet{1: {}},
			AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
			Cmd:              exec.Command(path),
			Logger:           hclog.NewNullLogger(),
		})
		begun = time.Now()
		protocol, err := client.Client()
		must(b, err)
		must(b, protocol.Ping())
		plain = append(plain, time.Since(begun))
		client.Kill()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(ours))/float64(median(plain)), "x-plain")
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}
