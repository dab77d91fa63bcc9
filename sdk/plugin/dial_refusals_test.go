// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/testplugin"
	"darkshift.io/infrared/sdk/plugin"
)

func TestDialRefusesPlugins(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		plugin string
		launch plugin.Launch
		want   plugin.StartReason
		says   []string
	}{
		"prints first": {
			reason: "people must see what stands in the way", plugin: "prints-first", want: plugin.ReasonPrintsFirst,
			says: []string{"prints-first", `"hello from init"`},
		},
		"prints first without an end": {
			reason: "what it prints is cut and made printable", plugin: "prints-bytes", want: plugin.ReasonPrintsFirst, says: []string{"prints-bytes", `"�[31m`, "…"},
		},
		"forged, elsewhere": {
			reason: "a line that looks like a handshake may name anybody's socket", plugin: "forged", want: plugin.ReasonForgedHandshake,
			says: []string{"not in the folder"},
		},
		"forged, nobody there": {
			reason: "a handshake is trusted once a plugin answers", plugin: "forged-nobody", want: plugin.ReasonForgedHandshake,
			launch: plugin.Launch{StartTimeout: 2 * time.Second}, says: []string{"forged-nobody", "answers"},
		},
		"forged, silence there": {
			reason: "a server that never answers holds nobody up for longer than the start time-out", plugin: "forged-silent", want: plugin.ReasonForgedHandshake,
			launch: plugin.Launch{StartTimeout: 2 * time.Second}, says: []string{"forged-silent", "answers"},
		},
		"forged, a stranger there": {
			reason: "only the process that has the handshake's key is the plugin", plugin: "forged-stranger", want: plugin.ReasonForgedHandshake,
			launch: plugin.Launch{StartTimeout: 2 * time.Second},
		},
		"wrong version": {
			reason: "one must see which side is the old one", plugin: "wrong-version", want: plugin.ReasonVersionMismatch, says: []string{"protocol version 2", "this host 1"},
		},
		"versions of the future": {
			reason: "an old plugin meets a host that has dropped its version", plugin: "good", launch: plugin.Launch{Versions: []int{3, 2}},
			want: plugin.ReasonVersionMismatch, says: []string{"protocol version 1", "this host 2 and 3"},
		},
		"wrong checksum": {
			reason: "the binary is pinned", plugin: "good", launch: plugin.Launch{SHA256: strings.Repeat("ab", 32)}, want: plugin.ReasonChecksumMismatch,
			says: []string{"checksums did not match", "good", "not executed"},
		},
		"exits at once": {
			reason: "its last words tell most", plugin: "exits", want: plugin.ReasonCrashedAtStart, says: []string{"exited with code 1", `"no region"`},
		},
		"exits when asked who it is": {
			reason: "a handshake is not the whole start", plugin: "late-exit", want: plugin.ReasonCrashedAtStart, says: []string{"exited with code 4"},
		},
		"exits after the handshake": {
			reason: "what it wrote is worth nothing without a process", plugin: "handshake-exits", want: plugin.ReasonCrashedAtStart, says: []string{"exited with code 4"},
		},
		"silent": {
			reason: "a start has an end", plugin: "silent", launch: plugin.Launch{StartTimeout: 300 * time.Millisecond}, want: plugin.ReasonSilent, says: []string{"300ms"},
		},
		"facts that are not valid": {
			reason: "the SDK refuses to serve them, and the host says which", plugin: "bad-facts", want: plugin.ReasonFactsInvalid, says: []string{"name:", "No Name"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, sum := testplugin.Build(t).Add(t, c.plugin)
			c.launch.Path = path
			if c.launch.SHA256 == "" {
				c.launch.SHA256 = sum
			}
			message := refused(t, c.launch, c.want)
			for _, words := range c.says {
				if !strings.Contains(message, words) {
					t.Errorf("it says %q, without %q: %s", message, words, c.reason)
				}
			}
			if len(message) > 600 || strings.Contains(message, t.TempDir()) {
				t.Errorf("the message is long or names a folder that changes: %s", message)
			}
			if again := refused(t, c.launch, c.want); again != message {
				t.Errorf("the same cause gives two texts:\n%s\n%s", message, again)
			}
		})
	}
}

func TestDialRefusesFiles(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		make   func(t *testing.T, path string)
		want   plugin.StartReason
		says   string
	}{
		"missing":        {reason: "the file has not been put there", make: func(*testing.T, string) {}, want: plugin.ReasonBinaryMissing, says: "no binary eks"},
		"broken link":    {reason: "what it leads to is missing", make: func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }, want: plugin.ReasonBinaryMissing, says: "eks"},
		"folder":         {reason: "it can't be run", make: func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) }, want: plugin.ReasonNotExecutable, says: "eks is not a file"},
		"no mode":        {reason: "the way out is one command", make: write("#!/bin/sh\n", 0o644), want: plugin.ReasonNotExecutable, says: "0755"},
		"no program":     {reason: "built for another machine", make: write("not a program", 0o755), want: plugin.ReasonNotExecutable, says: "architecture"},
		"empty":          {reason: "a copy that failed", make: write("", 0o755), want: plugin.ReasonNotExecutable, says: "eks"},
		"no interpreter": {reason: "the file is there, what runs it is not", make: write("#!/nonexistent/sh\n", 0o755), want: plugin.ReasonNotExecutable, says: "dynamic libraries"},
		"script":         {reason: "a script that talks is told from one that is silent", make: write("#!/bin/sh\necho Hello\n", 0o755), want: plugin.ReasonPrintsFirst, says: `"Hello"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "eks")
			c.make(t, path)
			if message := refused(t, plugin.Launch{Path: path}, c.want); !strings.Contains(message, c.says) {
				t.Errorf("it says %q, without %q: %s", message, c.says, c.reason)
			}
		})
	}
	if message := refused(t, plugin.Launch{Path: "plugins/eks"}, plugin.ReasonBinaryMissing); !strings.Contains(message, "absolute") {
		t.Errorf("a path that depends on the working folder: %s", message)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(text string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(text), mode)) }
}

func TestDialFollowsLinks(t *testing.T) {
	folder := testplugin.Build(t)
	path, sum := folder.Add(t, "good")
	link := filepath.Join(folder.Path, "link")
	must(t, os.Symlink(path, link))
	p, err := plugin.Dial(t.Context(), plugin.Launch{Path: link, SHA256: sum, SocketFolder: socketBase(t)})
	if err != nil {
		t.Fatalf("%v: what is behind the link is pinned, and whoever starts it judges where that is", err)
	}
	p.Kill()
}

func TestDialIsGivenUp(t *testing.T) {
	path, _ := testplugin.Build(t).Add(t, "silent")
	ctx, cancel := context.WithCancel(t.Context())
	base := socketBase(t)
	go func() {
		defer cancel()
		until(t, "the plugin runs", func() bool { return len(processesOf(t, path)) > 0 })
	}()
	_, err := plugin.Dial(ctx, plugin.Launch{Path: path, SocketFolder: base})
	if err == nil || !strings.Contains(err.Error(), "given up") {
		t.Errorf("the error is %v", err)
	}
	if left := processesOf(t, path); len(left) > 0 {
		t.Errorf("the processes %v are left", left)
	}
}

func TestDialTwoVersions(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		versions []int
		want     int
	}{
		"both":     {reason: "the newest in common", versions: []int{1, 2}, want: 2},
		"only old": {reason: "an old host and a new plugin", versions: []int{1}, want: 1},
		"only new": {reason: "the plugin has what this host wants", versions: []int{2}, want: 2},
		"newer":    {reason: "a host that is ahead", versions: []int{3, 2}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := dialed(t, "two-versions", func(l *plugin.Launch) { l.Versions = c.versions })
			if p.Protocol() != c.want {
				t.Errorf("they speak %d, want %d: %s", p.Protocol(), c.want, c.reason)
			}
		})
	}
}
