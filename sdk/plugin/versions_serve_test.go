// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

// speaksEnv makes this test's program a plugin that speaks these versions.
const speaksEnv = "TEST_SPEAKS"

// onlyDescribes is a provider that nobody calls.
type onlyDescribes struct{ provider.Provider }

// TestPluginOfVersions is the plugin of [TestServeAgreesOnAVersion], in a process of its own.
func TestPluginOfVersions(t *testing.T) {
	speaks := os.Getenv(speaksEnv)
	if speaks == "" {
		return
	}
	var versions []protocol
	for text := range strings.SplitSeq(speaks, ",") {
		// Adding a version is one line in protocols(); what it registers is its own.
		p := protocol{register: protocols()[0].register}
		if _, err := fmt.Sscan(text, &p.number); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, p)
	}
	p := program{provider: onlyDescribes{}, facts: provider.Facts{Name: "versions", Version: "v0.1.0"}, versions: versions}
	os.Exit(run(t.Context(), p))
}

func TestServeAgreesOnAVersion(t *testing.T) {
	for name, c := range map[string]struct {
		reason        string
		speaks, hosts string
		want          string
	}{
		"both the same":          {"there is one", "1", "1", "1"},
		"the plugin is newer":    {"it still speaks the version before", "2,1", "1", "1"},
		"the host is newer":      {"it still speaks the version before", "1", "2,1", "1"},
		"both are newer":         {"the newest that both have", "2,1", "1,2", "2"},
		"they overlap":           {"the newest that both have", "2,1", "3,2", "2"},
		"they have none":         {"the plugin says what it has, and the host refuses with both numbers", "2", "1", "2"},
		"they have none, of two": {"the plugin says its oldest, and the host refuses with both numbers", "3,2", "1", "2"},
		"the host says nothing":  {"the oldest, for the oldest hosts", "2,1", "", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := firstLine(t, c.speaks, c.hosts)[1]; got != c.want {
				t.Errorf("a plugin of %s and a host of %q agree on %s, want %s: %s", c.speaks, c.hosts, got, c.want, c.reason)
			}
		})
	}
}

// firstLine starts a plugin and returns the fields of its handshake.
func firstLine(t *testing.T, speaks, hosts string) []string {
	t.Helper()
	folder, err := os.MkdirTemp("", "ir-test-") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPluginOfVersions$")
	cmd.Env = []string{
		MagicCookieKey + "=" + MagicCookieValue, "PLUGIN_PROTOCOL_VERSIONS=" + hosts,
		"PLUGIN_UNIX_SOCKET_DIR=" + folder, speaksEnv + "=" + speaks,
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no handshake: %v", err)
	}
	cancel()
	// It was killed, which Wait says.
	_ = cmd.Wait()
	fields := strings.Split(text, "|")
	if len(fields) < 5 {
		t.Fatalf("the first line is no handshake: %q", text)
	}
	return fields
}
